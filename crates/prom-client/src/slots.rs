//! Answers to events that travel together: put down in slots, taken by the future that waits for each.
//!
//! One allocation and one lock for many events: an answer to a frame is put down as a whole, and only those who
//! wait already are woken.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use prom_types::Receipt;

use crate::Error;

/// A slot for each event, made when it is needed.
#[derive(Debug, Default)]
pub(crate) struct Slots(Mutex<Vec<Slot>>);

#[derive(Debug, Default)]
enum Slot {
    /// Nothing waits yet.
    #[default]
    Open,
    Awaited(Waker),
    Stored(Receipt),
    Failed(Box<Error>),
    Taken,
}

/// One event's slot.
#[derive(Debug)]
pub(crate) struct AnswerSlot {
    pub slots: Arc<Slots>,
    pub at: u32,
}

impl Slots {
    /// Puts answers down. The first answer to an event counts.
    pub fn answer(&self, answers: impl Iterator<Item = (u32, Result<Receipt, Error>)>) {
        let mut wakers: Vec<Waker> = Vec::new();
        let mut slots = self.0.lock();
        for (at, answer) in answers {
            let slot = slot(&mut slots, at);
            if !matches!(slot, Slot::Open | Slot::Awaited(_)) {
                continue;
            }
            let answered = match answer {
                Ok(receipt) => Slot::Stored(receipt),
                Err(error) => Slot::Failed(Box::new(error)),
            };
            if let Slot::Awaited(waker) = std::mem::replace(slot, answered) {
                wakers.push(waker);
            }
        }
        drop(slots);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl AnswerSlot {
    /// `None` if the answer was taken before.
    pub fn poll(&self, context: &Context<'_>) -> Poll<Option<Result<Receipt, Error>>> {
        let mut slots = self.slots.0.lock();
        let slot = slot(&mut slots, self.at);
        match std::mem::replace(slot, Slot::Taken) {
            Slot::Stored(receipt) => Poll::Ready(Some(Ok(receipt))),
            Slot::Failed(error) => Poll::Ready(Some(Err(*error))),
            Slot::Taken => Poll::Ready(None),
            Slot::Open => {
                *slot = Slot::Awaited(context.waker().clone());
                Poll::Pending
            }
            Slot::Awaited(waker) => {
                let same = waker.will_wake(context.waker());
                *slot = Slot::Awaited(if same { waker } else { context.waker().clone() });
                Poll::Pending
            }
        }
    }
}

fn slot(slots: &mut Vec<Slot>, at: u32) -> &mut Slot {
    let at = at as usize;
    if slots.len() <= at {
        slots.resize_with(at + 1, Slot::default);
    }
    &mut slots[at]
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use prom_types::{Durability, EventId};

    use super::*;

    fn receipt(offset: u64) -> Receipt {
        Receipt {
            id: EventId::derived("a"),
            partition: 0,
            offset,
            stored_ts: 0,
            durability: Durability::Memory,
            duplicate: false,
        }
    }

    fn claim(slots: &Arc<Slots>, at: u32) -> AnswerSlot {
        AnswerSlot { slots: slots.clone(), at }
    }

    #[tokio::test]
    async fn each_gets_its_own_answer_whether_it_waits_or_comes_later() {
        let slots = Arc::new(Slots::default());
        let waiting: Vec<_> = [2, 0]
            .map(|at| {
                let claim = claim(&slots, at);
                tokio::spawn(std::future::poll_fn(move |context| claim.poll(context)))
            })
            .into_iter()
            .collect();
        tokio::task::yield_now().await;
        slots.answer((0..4).map(|at| (at, Ok(receipt(u64::from(at))))));
        for (waiting, offset) in waiting.into_iter().zip([2, 0]) {
            assert_eq!(waiting.await.unwrap().unwrap().unwrap().offset, offset);
        }
        let later = claim(&slots, 3);
        let taken = std::future::poll_fn(|context| later.poll(context)).now_or_never().unwrap();
        assert_eq!(taken.unwrap().unwrap().offset, 3);
        assert!(std::future::poll_fn(|context| later.poll(context)).now_or_never().unwrap().is_none(), "once only");
    }

    #[test]
    fn the_first_answer_counts() {
        let slots = Arc::new(Slots::default());
        slots.answer(std::iter::once((0, Err(Error::closed("gone")))));
        slots.answer(std::iter::once((0, Ok(receipt(1)))));
        let claim = claim(&slots, 0);
        let answer = std::future::poll_fn(|context| claim.poll(context)).now_or_never().unwrap();
        assert!(matches!(answer, Some(Err(Error::Closed { .. }))));
    }
}
