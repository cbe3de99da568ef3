//! Waking a dispatcher: a flag, and the waker of the one task that waits.
//!
//! As `tokio::sync::Notify` with one waiter and `notify_one`, but waiting for it holds a reference and nothing else: there is a
//! task that waits for every topic and group.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::task::AtomicWaker;

/// Whether a dispatcher has been woken since it last looked.
#[derive(Debug, Default)]
pub(crate) struct DispatcherWake {
    woken: AtomicBool,
    waker: AtomicWaker,
}

/// Ready when the dispatcher has been woken; then it counts as not woken again. Dropping it loses nothing.
pub(crate) struct Woken<'a>(&'a DispatcherWake);

impl DispatcherWake {
    /// Wakes the task; kept for it if it does not wait at this moment.
    pub fn notify_one(&self) {
        if !self.woken.swap(true, Ordering::AcqRel) {
            self.waker.wake();
        }
    }

    pub fn notified(&self) -> Woken<'_> {
        Woken(self)
    }
}

impl Future for Woken<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // Registered before looking, so that nothing is missed in between.
        self.0.waker.register(context.waker());
        if self.0.woken.swap(false, Ordering::AcqRel) { Poll::Ready(()) } else { Poll::Pending }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_wake_is_kept_until_somebody_looks_and_counts_once() {
        let wake = DispatcherWake::default();
        assert_eq!(wake.notified().now_or_never(), None);
        wake.notify_one();
        wake.notify_one();
        assert_eq!(wake.notified().now_or_never(), Some(()));
        assert_eq!(wake.notified().now_or_never(), None);
    }

    #[tokio::test]
    async fn a_task_that_waits_is_woken() {
        let wake = std::sync::Arc::new(DispatcherWake::default());
        let waiting = tokio::spawn({
            let wake = wake.clone();
            async move { wake.notified().await }
        });
        tokio::task::yield_now().await;
        wake.notify_one();
        tokio::time::timeout(std::time::Duration::from_secs(10), waiting).await.expect("woken").unwrap();
    }
}
