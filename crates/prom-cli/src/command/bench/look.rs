//! Looking without a group: a subscriber that gets every event and acks nothing.

use prom_client::Tail;
use tokio::sync::watch;

use super::consume::{Consumed, Judge, wait_for_end};

/// One connection that looks.
pub struct Looker {
    pub tail: Tail,
    pub judge: Judge,
    /// True when there is nothing more to wait for.
    pub over: watch::Receiver<bool>,
}

impl Looker {
    pub async fn run(mut self) -> Consumed {
        loop {
            tokio::select! {
                biased;
                event = self.tail.next() => match event {
                    Some(event) => {
                        let more = std::iter::from_fn(|| self.tail.try_next());
                        let events: Vec<_> = std::iter::once(event).chain(more.take(MOST_AT_ONCE)).collect();
                        self.judge.look(events.iter());
                    }
                    None => break,
                },
                () = wait_for_end(&mut self.over) => break,
            }
        }
        if let Some(error) = self.tail.failure() {
            self.judge.meter.note(&error, 1);
        }
        self.judge.consumed
    }
}

/// Others want to look at the clock too.
const MOST_AT_ONCE: usize = 256;
