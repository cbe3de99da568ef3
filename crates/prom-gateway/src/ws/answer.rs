//! Answering: bursts in the order in which they came, frames in the order within them.

use std::collections::VecDeque;
use std::sync::Arc;

use prom_engine::Error;
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::ok::{self, BatchReceipt};
use prom_protocol::frame::{Which, ok as frames};
use prom_types::{Durability, Receipt};
use tokio::sync::mpsc;

use super::burst::{AckForm, AwaitedAnswer, BurstItem, FrameReply, FrameSlot, Name, Sent};
use super::outbox::{Outbox, frame};
use crate::{Hub, problem};

/// Answers until no more bursts come.
///
/// They come boxed: a channel sets aside room for many, also for a connection that is idle.
pub async fn run(mut bursts: mpsc::Receiver<Box<Sent>>, outbox: Arc<Outbox>, hub: &Hub) {
    while let Some(sent) = bursts.recv().await {
        answer(*sent, &outbox, hub).await;
    }
}

async fn answer(sent: Sent, outbox: &Outbox, hub: &Hub) {
    let mut earlier = VecDeque::new();
    for (count, committing) in sent.earlier {
        earlier.push_back((count, Receipts::new(committing.await)));
    }
    let published = match sent.gathered {
        Some(gathered) => gathered.await,
        None => Ok(Vec::new()),
    };
    hub.tell_published(&sent.traced, published.as_ref().err());
    let acked = match sent.acks {
        Some(acks) => acks.await,
        None => Vec::new(),
    };
    let durability = hub.bus.durability();
    let receipts = Receipts::new(published);
    let results = Results { earlier, receipts, acked: acked.into_iter(), durability };
    write_all(sent.slots, results, outbox).await;
}

async fn write_all(slots: Vec<FrameSlot>, mut results: Results, outbox: &Outbox) {
    let mut slots = slots.into_iter().peekable();
    while slots.peek().is_some() {
        outbox.room().await;
        // After the last frame nothing is written, so waiting for the slots to get fewer would never end.
        if outbox.is_closing() {
            return;
        }
        let mut later = None;
        outbox.put(|out| {
            // Written in one go, unless one of them has to be waited for.
            for FrameSlot { corr, what } in slots.by_ref() {
                match what {
                    AwaitedAnswer::Later(reply) => {
                        later = Some((corr, reply));
                        return;
                    }
                    what => results.write(out, corr, what),
                }
            }
        });
        if let Some((corr, reply)) = later {
            let reply = reply.await;
            outbox.put(|out| write_reply(out, corr.as_ref(), reply));
        }
    }
}

/// What the bus said, to be given out in order.
struct Results {
    /// Of units that were handed over before the last, with how many are left of each.
    earlier: VecDeque<(usize, Receipts)>,
    receipts: Receipts,
    acked: std::vec::IntoIter<Result<(), Error>>,
    durability: Durability,
}

/// Receipts one after the other, or the same problem for all.
enum Receipts {
    Some(std::vec::IntoIter<Receipt>),
    None(Problem),
}

impl Receipts {
    fn new(published: Result<Vec<Receipt>, Error>) -> Self {
        match published {
            Ok(receipts) => Self::Some(receipts.into_iter()),
            Err(error) => Self::None(problem::of_bus(&error)),
        }
    }

    fn next(&mut self) -> Result<Receipt, Problem> {
        match self {
            Self::Some(receipts) => receipts.next().ok_or_else(|| problem::of_bus(&Error::Closed)),
            Self::None(problem) => Err(problem.clone()),
        }
    }
}

impl Results {
    fn write(&mut self, out: &mut Vec<u8>, corr: Option<prom_protocol::Corr>, what: AwaitedAnswer) {
        let corr = corr.as_ref();
        match what {
            AwaitedAnswer::Publish => match self.next_receipt() {
                Ok(receipt) => frame(out, |out| ok::write_receipt(out, corr, &receipt)),
                Err(problem) => frame(out, |out| problem.write(out, corr)),
            },
            AwaitedAnswer::Batch(items) => {
                let results: Vec<Result<BatchReceipt, Problem>> =
                    items.into_iter().map(|item| self.placed(item)).collect();
                let results = results.iter().map(|result| result.as_ref().copied());
                frame(out, |out| ok::write_results(out, corr, self.durability, results));
            }
            AwaitedAnswer::Ack { count, form } => {
                let reply = self.acked(count, form);
                write_reply(out, corr, reply);
            }
            AwaitedAnswer::Ready(reply) => write_reply(out, corr, reply),
            // Handled by the caller, who can wait.
            AwaitedAnswer::Later(_) => {}
        }
    }

    fn next_receipt(&mut self) -> Result<Receipt, Problem> {
        while self.earlier.pop_front_if(|(left, _)| *left == 0).is_some() {}
        match self.earlier.front_mut() {
            Some((left, receipts)) => {
                *left -= 1;
                receipts.next()
            }
            None => self.receipts.next(),
        }
    }

    fn placed(&mut self, item: BurstItem) -> Result<BatchReceipt, Problem> {
        match item {
            BurstItem::Refused(problem) => Err(problem),
            BurstItem::Publish { given } => self.next_receipt().map(|receipt| BatchReceipt::of(&receipt, given)),
        }
    }

    fn acked(&mut self, count: usize, form: AckForm) -> FrameReply {
        let results: Vec<Result<(), Error>> = self.acked.by_ref().take(count).collect();
        match form {
            AckForm::One => match results.iter().find_map(|result| result.as_ref().err()) {
                Some(error) => FrameReply::Err(problem::of_bus(error)),
                None => FrameReply::Ok,
            },
            AckForm::Many { missing, named } => match unknown_of(missing, &named, &results) {
                Err(error) => FrameReply::Err(problem::of_bus(error)),
                Ok(unknown) if unknown.is_empty() => FrameReply::Ok,
                Ok(unknown) => FrameReply::Unknown(unknown),
            },
        }
    }
}

/// What was not there, and of what was there whatever is not leased any more; or why that is not known.
pub fn unknown_of<'r>(missing: Which, named: &[Name], results: &'r [Result<(), Error>]) -> Result<Which, &'r Error> {
    let failed = |error: &&Error| !matches!(error, Error::NotLeased { .. } | Error::Revoked { .. });
    let mut errors = results.iter().filter_map(|result| result.as_ref().err());
    if let Some(error) = errors.clone().find(failed) {
        return Err(error);
    }
    // Where nothing of it counted because it came under an older epoch, the whole is refused for that.
    if results.iter().all(Result::is_err)
        && let Some(fenced) = errors.find(|error| matches!(error, Error::Revoked { .. }))
    {
        return Err(fenced);
    }
    let lost = named.iter().zip(results).filter(|(_, result)| result.is_err()).map(|(name, _)| *name);
    Ok(with(missing, lost))
}

fn with(missing: Which, lost: impl Iterator<Item = Name>) -> Which {
    match missing {
        Which::Ids(mut ids) => {
            ids.extend(lost.filter_map(|name| if let Name::Id(id) = name { Some(id) } else { None }));
            Which::Ids(ids)
        }
        Which::Offsets { partition, mut ranges } => {
            ranges.extend(
                lost.filter_map(|name| if let Name::Offset(offset) = name { Some((offset, offset)) } else { None }),
            );
            Which::Offsets { partition, ranges }
        }
    }
}

pub fn write_reply(out: &mut Vec<u8>, corr: Option<&prom_protocol::Corr>, reply: FrameReply) {
    match reply {
        FrameReply::Ok => frame(out, |out| frames::write(out, corr)),
        FrameReply::Subscribed { begin, notes } => {
            frame(out, |out| frames::write_notes(out, corr, &notes));
            if begin.send(()).is_err() {
                tracing::debug!("a subscription ended before it began");
            }
        }
        FrameReply::Welcome(welcome) => frame(out, |out| frames::write_welcome(out, corr, &welcome)),
        FrameReply::Published(receipt) => frame(out, |out| ok::write_receipt(out, corr, &receipt)),
        FrameReply::Results { results, durability } => {
            let results = results.iter().map(|result| result.as_ref().copied());
            frame(out, |out| frames::write_results(out, corr, durability, results));
        }
        FrameReply::Stored { receipts, given, durability } => {
            let results = receipts.iter().zip(given).map(|(receipt, given)| Ok(BatchReceipt::of(receipt, given)));
            frame(out, |out| frames::write_results(out, corr, durability, results));
        }
        FrameReply::Raw(text) => frame(out, |out| out.extend_from_slice(&text)),
        FrameReply::Unknown(which) => frame(out, |out| frames::write_unknown(out, corr, &which)),
        FrameReply::Err(problem) => frame(out, |out| problem.write(out, corr)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn answering_ends_where_the_last_frame_was_written_by_another_task() {
        let (ended, waits) = std::sync::mpsc::channel();
        // On a thread of its own: a loop that never waits could not be timed out on this one.
        std::thread::spawn(move || {
            let outbox = Outbox::new(1024);
            outbox.close(1001, "the group is served by another hub");
            let slots = vec![FrameSlot { corr: None, what: AwaitedAnswer::Ready(FrameReply::Ok) }];
            let results = Results {
                earlier: VecDeque::new(),
                receipts: Receipts::new(Ok(Vec::new())),
                acked: Vec::new().into_iter(),
                durability: Durability::Memory,
            };
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(write_all(slots, results, &outbox));
            ended.send(()).unwrap();
        });
        waits.recv_timeout(Duration::from_secs(10)).expect("it is written to for ever");
    }
}
