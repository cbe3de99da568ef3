//! What an operator does to a cursor: moving it, skipping one event, and taking leases back. Durable first, together with
//! its audit event, then in memory.
//!
//! Moving forward settles what is passed over and leaves the rest alone: what is settled or leased beyond it
//! stays so. Moving back fences everything in flight and forgets what was settled from there on.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use prom_store::CursorChange;
use prom_types::{EventId, Offset, Position};
use tokio::sync::oneshot;

use super::filter::Filtering;
use super::{DispatchTask, End};
use crate::cursor::CursorMove;
use crate::dispatch::{Settled, SubscriberId};
use crate::limits::CONTENTION_TRIES;
use crate::{Error, audit};

/// A cursor to be moved.
pub(crate) struct MoveOrder {
    pub floor: Offset,
    pub asked: Position,
    /// Where the cursor has to stand.
    pub expected: Option<MoveFrom>,
    pub subject: Option<Arc<str>>,
    pub reply: oneshot::Sender<Result<CursorMove, Error>>,
}

/// Where a cursor has to stand for a move. What retention has removed counts as settled.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MoveFrom {
    pub floor: Offset,
    /// The first offset that is retained.
    pub start: Offset,
}

/// An event to be settled without its holder.
pub(crate) struct SkipOrder {
    pub offset: Offset,
    pub id: Option<EventId>,
    pub subject: Option<Arc<str>>,
    pub reply: oneshot::Sender<Result<Settled, Error>>,
}

/// Leases to be taken back from their holders.
pub(crate) struct ReleaseOrder {
    pub which: ReleaseWhich,
    pub reply: oneshot::Sender<Vec<(Offset, SubscriberId)>>,
}

/// Which of a dispatcher's leases.
#[derive(Debug, Clone)]
pub(crate) enum ReleaseWhich {
    All,
    Offset(Offset),
    /// Those of these subscribers.
    Held(Vec<SubscriberId>),
}

impl DispatchTask {
    /// Nothing to make durable first: leases are not. What is counted goes with the next settlement.
    pub(super) fn release(&mut self, now: Duration, order: ReleaseOrder) {
        let is_meant = |offset: Offset, subscriber: SubscriberId| match &order.which {
            ReleaseWhich::All => true,
            ReleaseWhich::Offset(asked) => *asked == offset,
            ReleaseWhich::Held(subscribers) => subscribers.contains(&subscriber),
        };
        let released = self.machine.release(now, is_meant);
        for (offset, subscriber) in &released {
            // It may still lie in the queue; its lease has ended.
            if let Some(seat) = self.seats.iter().find(|seat| seat.outlet.id == *subscriber) {
                drop(seat.outlet.forget_queued(&self.origin, *offset..*offset + 1));
            }
        }
        let _caller_left = order.reply.send(released);
    }

    pub(super) async fn move_cursor(&mut self, order: MoveOrder) -> Option<End> {
        let (result, end) = match self.finish_commits().await {
            Some(end) => (Err(Error::fenced(&self.cursor)), Some(end)),
            None => match self.move_to(&order).await {
                Ok((moved, end)) => (Ok(moved), end),
                Err(error) => self.refused(error),
            },
        };
        let _caller_left = order.reply.send(result);
        end
    }

    pub(super) async fn skip(&mut self, order: SkipOrder) -> Option<End> {
        let (result, end) = match self.finish_commits().await {
            Some(end) => (Err(Error::fenced(&self.cursor)), Some(end)),
            None => match self.skip_one(&order).await {
                Ok(settled) => (Ok(settled), None),
                Err(error) => self.refused(error),
            },
        };
        let _caller_left = order.reply.send(result);
        end
    }

    async fn move_to(&mut self, order: &MoveOrder) -> Result<(CursorMove, Option<End>), Error> {
        let (floor, above) = (self.machine.floor(), self.machine.settled_above());
        if let Some(MoveFrom { floor: expected, start }) = order.expected
            && expected != floor.max(start)
        {
            return Err(Error::elsewhere(&self.cursor, expected, floor.max(start)));
        }
        let moved = CursorMove::new(self.cursor.log.partition, floor, above, order.floor);
        let change = match moved.passed_over() {
            Some(passed_over) => self.settlement_of(passed_over),
            None => CursorChange::Reset { floor: moved.after },
        };
        let event = audit::cursor_moved(&self.cursor, &moved, order.asked, order.subject.as_deref())?;
        self.commit_with_audit(change, event).await?;
        let Some(passed_over) = moved.passed_over() else {
            return Ok((moved, self.take_again().await));
        };
        self.machine.settle_before(moved.after);
        self.forget(passed_over);
        Ok((moved, None))
    }

    async fn skip_one(&mut self, order: &SkipOrder) -> Result<Settled, Error> {
        let offset = order.offset;
        if self.machine.is_settled(offset) {
            return Ok(Settled::AlreadySettled);
        }
        let event = audit::event_skipped(&self.cursor, offset, order.id, order.subject.as_deref())?;
        let change = self.settlement_of(offset..offset + 1);
        self.commit_with_audit(change, event).await?;
        let settled = self.machine.skip(offset);
        self.forget(offset..offset + 1);
        Ok(settled)
    }

    fn settlement_of(&self, range: Range<Offset>) -> CursorChange {
        CursorChange::Settle { epoch: self.epoch, settled: vec![range], failures: Vec::new() }
    }

    async fn commit_with_audit(&mut self, change: CursorChange, event: audit::AuditEvent) -> Result<(), Error> {
        let mut work = self.core.unit_of_work();
        work.change_cursor(self.cursor.clone(), change);
        event.add_to(&mut work)?;
        work.send().await?;
        Ok(())
    }

    /// A fenced dispatcher ends; the caller asks the next one.
    fn refused<T>(&self, error: Error) -> (Result<T, Error>, Option<End>) {
        let end = matches!(error, Error::Fenced { .. }).then_some(End::Failed(Error::fenced as _));
        (Err(error), end)
    }

    /// Drops what waits to be handed over or to become a dead letter, of events that are settled.
    fn forget(&mut self, settled: Range<Offset>) {
        self.forget_letters(&settled);
        self.condemned.retain(|offset, _| !settled.contains(offset));
        // It may have been suspended for what is settled now.
        self.filtering.iter_mut().for_each(Filtering::clear);
        for seat in &self.seats {
            for ticket in seat.outlet.forget_queued(&self.origin, settled.clone()) {
                self.machine.withdraw(seat.outlet.id, ticket.offset, ticket.lease);
            }
        }
    }

    /// Goes on under the epoch that the reset raised.
    async fn take_again(&mut self) -> Option<End> {
        for _ in 0..CONTENTION_TRIES {
            match self.core.store.take_cursor(&self.cursor, 0).await {
                Ok(cursor) => {
                    self.epoch = cursor.epoch;
                    self.machine.reset(cursor.floor, self.head.bounds());
                    self.records.clear();
                    self.forget(0..Offset::MAX);
                    match self.load_set_aside().await {
                        Ok(()) => return None,
                        Err(error) => {
                            tracing::error!(cursor = %self.cursor, %error, "what is set aside cannot be read; trying again");
                        }
                    }
                }
                Err(error) => tracing::error!(cursor = %self.cursor, %error, "the moved cursor cannot be read"),
            }
            tokio::time::sleep(crate::limits::FIRST_RETRY).await;
        }
        Some(End::Failed(Error::fenced))
    }
}
