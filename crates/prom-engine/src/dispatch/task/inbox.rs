//! What others ask of a dispatcher.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prom_store::{CursorName, Record};
use prom_types::Offset;
use tokio::sync::oneshot;

use super::start::max_attempts;
use super::{DispatchTask, End, LaneOrder, LetterRequest, MoveOrder, ReleaseOrder, SkipOrder};
use crate::Error;
use crate::ack::LeasedOffsets;
use crate::dispatch::{DispatchStatus, EventAt, EventLook, LeaseId, Leased, Limit, NotLeased, Settled, SubscriberId};
use crate::group::GroupOptions;
use crate::limits::LETTER_LEASE;
use crate::meters::AckTally;
use crate::outlet::Outlet;

pub(crate) type SettleReply = oneshot::Sender<Result<(), Error>>;

/// A message to a dispatcher.
pub(crate) enum DispatchRequest {
    Ack {
        subscriber: SubscriberId,
        leases: LeasedOffsets,
        reply: Option<SettleReply>,
    },
    Nack {
        subscriber: SubscriberId,
        offset: Offset,
        lease: LeaseId,
        reason: Option<String>,
        delay: Option<Duration>,
        reply: Option<SettleReply>,
    },
    /// The hub itself cannot hand it over as the subscriber asked: it goes to the dead letters.
    Condemn {
        subscriber: SubscriberId,
        leased: Leased,
        record: Record,
        reason: String,
        reply: SettleReply,
    },
    /// Not begun: neither an attempt nor a return.
    GiveBack {
        subscriber: SubscriberId,
        leases: LeasedOffsets,
        reply: SettleReply,
    },
    Modack {
        subscriber: SubscriberId,
        leases: LeasedOffsets,
        extend: Duration,
        reply: Option<SettleReply>,
    },
    /// An operator moves the cursor.
    Move(MoveOrder),
    /// An operator settles an event.
    Skip(SkipOrder),
    /// Letters are given back, or dropped.
    Letters(LetterRequest),
    /// An operator takes leases back.
    Release(ReleaseOrder),
    Status(oneshot::Sender<DispatchReport>),
    /// Where one event is, and the name of the member that has it.
    Look {
        offset: Offset,
        reply: oneshot::Sender<(EventLook, Option<String>)>,
    },
    /// The group's options changed; they are durable already.
    Change {
        options: Box<GroupOptions>,
        /// The revision of the group's document that the change was made to.
        made_to: u64,
        done: oneshot::Sender<()>,
    },
    /// Who is to own a lane.
    Lane(LaneOrder),
    /// Under which epoch of the cursor it dispatches.
    Epoch(oneshot::Sender<u64>),
    /// The group is being deleted.
    Delete(oneshot::Sender<()>),
    /// The topic was deleted.
    TopicDeleted(oneshot::Sender<()>),
}

/// What a dispatcher tells about itself.
#[derive(Debug)]
pub(crate) struct DispatchReport {
    pub status: DispatchStatus,
    pub now: Duration,
    pub members: Vec<LeaseHolder>,
    /// For each subscriber that holds something: since when it has held the oldest.
    pub oldest_leases: Vec<(SubscriberId, Duration)>,
    /// Why its filter is suspended, if it is.
    pub suspension: Option<String>,
}

/// Who takes part in dispatching, as people know it.
#[derive(Debug, Clone)]
pub(crate) struct LeaseHolder {
    pub id: SubscriberId,
    pub member: String,
    pub subject: Option<String>,
    pub address: Option<String>,
}

impl DispatchRequest {
    /// The answer of a dispatcher that has ended.
    pub fn refuse(self, cursor: &CursorName) {
        let not_leased = |offsets: Vec<Offset>| Error::NotLeased { topic: cursor.log.topic.clone(), offsets };
        let (reply, error) = match self {
            Self::Ack { leases, reply, .. } | Self::Modack { leases, reply, .. } => {
                (reply, not_leased(leases.iter().map(|(offset, _)| *offset).collect()))
            }
            Self::Nack { offset, reply, .. } => (reply, not_leased(vec![offset])),
            Self::GiveBack { reply, .. } => {
                let _caller_left = reply.send(Ok(()));
                return;
            }
            Self::Condemn { leased, reply, .. } => (Some(reply), not_leased(vec![leased.offset])),
            Self::Move(order) => {
                let _caller_left = order.reply.send(Err(Error::fenced(cursor)));
                return;
            }
            Self::Skip(order) => {
                let _caller_left = order.reply.send(Err(Error::fenced(cursor)));
                return;
            }
            Self::Letters(order) => return order.refuse(Error::fenced(cursor)),
            Self::Release(order) => {
                let _caller_left = order.reply.send(Vec::new());
                return;
            }
            Self::Status(_)
            | Self::Look { .. }
            | Self::Change { .. }
            | Self::Lane(_)
            | Self::Epoch(_)
            | Self::Delete(_)
            | Self::TopicDeleted(_) => return,
        };
        if let Some(reply) = reply {
            let _caller_left = reply.send(Err(error));
        }
    }
}

impl DispatchTask {
    /// Works through everything that arrived together.
    pub(super) async fn take_requests(&mut self) -> Option<End> {
        let mut inbox = std::mem::take(&mut self.inbox);
        let now = self.now();
        // A subscriber that asks for more time counts from when it took the event.
        self.note_what_was_taken();
        let mut end = None;
        let mut acks = AckTally::new(now);
        for request in inbox.drain(..) {
            match request {
                DispatchRequest::Ack { subscriber, leases, reply } => self.ack(subscriber, &leases, reply, &mut acks),
                DispatchRequest::Nack { subscriber, offset, lease, reason, delay, reply } => {
                    let result = self.machine.nack(now, subscriber, offset, lease, reason, delay);
                    self.meter.nacked.add(u64::from(result == Ok(Settled::Now)));
                    let lost = result.is_err().then_some((offset, lease));
                    self.answer_when_durable(reply, self.lost(subscriber, lost.as_slice()));
                }
                DispatchRequest::Condemn { subscriber, leased, record, reason, reply } => {
                    let _caller_left = reply.send(self.condemn_leased(now, subscriber, leased, record, reason));
                }
                DispatchRequest::GiveBack { subscriber, leases, reply } => {
                    leases.iter().for_each(|(offset, lease)| self.machine.withdraw(subscriber, *offset, *lease));
                    let _caller_left = reply.send(Ok(()));
                }
                DispatchRequest::Modack { subscriber, leases, extend, reply } => {
                    self.modack(now, subscriber, &leases, extend, reply)
                }
                DispatchRequest::Move(order) => end = end.or(self.move_cursor(order).await),
                DispatchRequest::Skip(order) => end = end.or(self.skip(order).await),
                DispatchRequest::Letters(order) => end = end.or(self.order_letters(order).await),
                DispatchRequest::Release(order) => self.release(now, order),
                DispatchRequest::Status(reply) => {
                    let _caller_left = reply.send(self.report(now));
                }
                DispatchRequest::Look { offset, reply } => {
                    let _caller_left = reply.send(self.look(offset));
                }
                DispatchRequest::Change { options, made_to, done } => {
                    self.change(&options, made_to);
                    let _caller_left = done.send(());
                }
                DispatchRequest::Lane(order) => self.obey(order),
                DispatchRequest::Epoch(reply) => {
                    let _caller_left = reply.send(self.epoch);
                }
                DispatchRequest::Delete(reply) => end = Some(End::Deleted(reply)),
                DispatchRequest::TopicDeleted(reply) => end = Some(End::TopicGone(Some(reply))),
            }
        }
        acks.count(&self.meter);
        self.inbox = inbox;
        end
    }

    /// Only under a live lease, which then lasts until its letter is written.
    fn condemn_leased(
        &mut self,
        now: Duration,
        subscriber: SubscriberId,
        leased: Leased,
        record: Record,
        reason: String,
    ) -> Result<(), Error> {
        let lost = |this: &Self| this.lost(subscriber, &[(leased.offset, leased.lease)]);
        if self.cursor.log.topic.is_dead_letters() {
            // Letters have no letters: it is tried again.
            let nacked = self.machine.nack(now, subscriber, leased.offset, leased.lease, Some(reason), None);
            return if nacked.is_err() { lost(self) } else { Ok(()) };
        }
        if self.machine.modack(now, subscriber, leased.offset, leased.lease, LETTER_LEASE).is_err() {
            return lost(self);
        }
        self.letters.condemn(subscriber, leased, record, reason);
        Ok(())
    }

    /// Two changes may arrive the wrong way round: the newer one stays.
    fn change(&mut self, options: &GroupOptions, made_to: u64) {
        if made_to < self.options_revision {
            return;
        }
        self.options_revision = made_to + 1;
        let max_attempts = max_attempts(&self.core, &self.cursor.log.topic, options);
        self.machine.change(max_attempts, options.backoff);
        self.machine.set_parking(options.parking());
        self.options = Arc::new(options.clone());
        if let Some(port) = &self.origin.port {
            port.max_attempts.store(max_attempts, Ordering::Relaxed);
        }
    }

    fn ack(
        &mut self,
        subscriber: SubscriberId,
        leases: &LeasedOffsets,
        reply: Option<SettleReply>,
        acks: &mut AckTally,
    ) {
        let mut lost: Vec<(Offset, LeaseId)> = Vec::new();
        for &(offset, lease) in leases {
            match self.machine.ack(subscriber, offset, lease) {
                Ok(Settled::Now) => acks.add(self.hand_overs.time_of(lease), &self.meter),
                Ok(Settled::AlreadySettled) => {}
                Err(NotLeased) => lost.push((offset, lease)),
            }
        }
        self.answer_when_durable(reply, self.lost(subscriber, &lost));
    }

    fn modack(
        &mut self,
        now: Duration,
        subscriber: SubscriberId,
        leases: &LeasedOffsets,
        extend: Duration,
        reply: Option<SettleReply>,
    ) {
        let mut lost: Vec<(Offset, LeaseId)> = Vec::new();
        for &(offset, lease) in leases {
            if self.machine.modack(now, subscriber, offset, lease, extend).is_err() {
                lost.push((offset, lease));
            }
        }
        // A deadline is not durable: there is nothing to wait for.
        if let Some(reply) = reply {
            let _caller_left = reply.send(self.lost(subscriber, &lost));
        }
    }

    /// The answer to a subscriber that settles what it does not hold (any more).
    fn lost(&self, subscriber: SubscriberId, lost: &[(Offset, LeaseId)]) -> Result<(), Error> {
        if lost.is_empty() {
            return Ok(());
        }
        let topic = self.cursor.log.topic.clone();
        let offsets = lost.iter().map(|(offset, _)| *offset).collect();
        if lost.iter().any(|(_, lease)| self.machine.is_fenced(subscriber, *lease)) {
            Err(Error::Revoked { topic, partition: self.cursor.log.partition, offsets })
        } else {
            Err(Error::NotLeased { topic, offsets })
        }
    }

    fn look(&self, offset: Offset) -> (EventLook, Option<String>) {
        let look = self.machine.look(offset);
        let holder = |subscriber| self.seats.iter().find(|seat| seat.outlet.id == subscriber);
        let member = match look.at {
            EventAt::InFlight(subscriber) => holder(subscriber).map(|seat| seat.outlet.member()),
            _ => None,
        };
        (look, member)
    }

    fn report(&self, now: Duration) -> DispatchReport {
        let member = |seat: &super::SubscriberSeat| {
            let Outlet { id, options, .. } = &*seat.outlet;
            let (subject, address) = (options.subject.clone(), options.address.clone());
            LeaseHolder { id: *id, member: seat.outlet.member(), subject, address }
        };
        let mut status = self.machine.status();
        let suspension = self.filtering.as_ref().and_then(|filtering| filtering.suspension(now));
        if suspension.is_some() {
            status.limit = Some(Limit::Filter);
        }
        let oldest_leases = self.machine.oldest_leases();
        DispatchReport { status, now, members: self.seats.iter().map(member).collect(), oldest_leases, suspension }
    }
}
