//! The wish to end early: the first signal lets the run come to its end in order, the second does not wait.

use tokio::sync::watch;

use crate::signals::Signals;

#[derive(Clone)]
pub struct Stop(watch::Receiver<bool>);

impl Stop {
    /// Listens for as long as the process lives.
    pub fn on(mut signals: Signals) -> Self {
        let (asked, stop) = watch::channel(false);
        tokio::spawn(async move {
            signals.next().await;
            asked.send_replace(true);
            signals.end_at_the_next();
            asked.closed().await;
        });
        Self(stop)
    }

    pub fn is_asked(&self) -> bool {
        *self.0.borrow()
    }

    /// Ready when it is asked for.
    pub async fn asked(&self) {
        // An error means that nothing listens for signals any more: then it is never asked for.
        if self.0.clone().wait_for(|asked| *asked).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
