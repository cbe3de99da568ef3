//! EVENT and EVENTS: what the bus leases to a subscription is written to its client.
//!
//! Nothing is taken from the subscription before the client has room: a delivery's time begins when
//! it is taken, and what waits in the subscription costs no attempt.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prom_engine::{Arrivals, AssignmentChange, Delivery, Error, Gap, MaskedView, StoredEvent, Subscription};
use prom_protocol::frame::assignment::Assignment;
use prom_protocol::frame::event::{EventHead, LeaseTerms};
use prom_protocol::frame::{SubscriptionName, gap};

use super::inflight::Inflight;
use super::member::GroupMember;
use super::outbox::{Outbox, frame};
use super::seat::MemberSeat;
use super::sight::Sight;
use crate::trace::{DeliverSpan, TraceParent};
use crate::{Hub, problem};

/// A frame of many is closed when it has this many bytes: clients have limits too.
const FRAME_BYTES: usize = 64 * 1024;

pub struct DeliveryPump {
    hub: Arc<Hub>,
    outbox: Arc<Outbox>,
    name: SubscriptionName,
    head: EventHead,
    batches: bool,
    seat: Arc<MemberSeat>,
    inflight: Arc<Mutex<Inflight>>,
    /// What hides parts of events from the subscriber; `None` where it sees all.
    masks: Option<MaskedView>,
}

impl DeliveryPump {
    pub fn new(member: &GroupMember, inflight: Arc<Mutex<Inflight>>) -> Self {
        let GroupMember { hub, outbox, name, batches, seat, sight, .. } = member;
        Self {
            hub: hub.clone(),
            outbox: outbox.clone(),
            head: EventHead::new(name),
            batches: *batches,
            name: name.clone(),
            seat: seat.clone(),
            inflight,
            masks: (*sight == Sight::Masked).then(|| hub.bus.masked_view()),
        }
    }

    /// Delivers until the subscription ends; returns why, where it ended by itself.
    pub async fn run(mut self, mut subscription: Subscription) -> Option<Error> {
        self.deliver(&mut subscription).await;
        let failure = subscription.failure();
        subscription.unsubscribe().await;
        failure
    }

    async fn deliver(&mut self, subscription: &mut Subscription) {
        loop {
            self.outbox.room().await;
            let arrivals = subscription.next_arrivals().await;
            if arrivals.is_empty() {
                return;
            }
            let Arrivals { deliveries, gaps, assignments } = arrivals;
            if !assignments.is_empty() {
                self.outbox.put(|out| write_assignments(out, &self.name, &self.seat, assignments));
            }
            if !gaps.is_empty() {
                self.outbox.put(|out| write_gaps(out, &self.name, gaps));
            }
            let seen = match self.seen(&deliveries).await {
                Ok(seen) => seen,
                Err(error) => {
                    // What was taken goes back with the subscription.
                    let problem = problem::of_bus(&error);
                    self.outbox.put(|out| frame(out, |out| problem.write_for(out, &self.name)));
                    return;
                }
            };
            let mut rest = deliveries.as_slice();
            while !rest.is_empty() {
                self.outbox.room().await;
                let from = deliveries.len() - rest.len();
                let written = self.write(rest, seen.as_ref().and_then(|seen| seen.get(from..)));
                rest = &rest[written..];
            }
        }
    }

    /// The events as the subscriber sees them; `None` where it sees them as they are.
    async fn seen(&mut self, deliveries: &[Delivery]) -> Result<Option<Vec<StoredEvent>>, Error> {
        match &mut self.masks {
            None => Ok(None),
            Some(masks) => {
                let events = deliveries.iter().map(|delivery| StoredEvent::clone(delivery)).collect();
                masks.apply(events).await.map(Some)
            }
        }
    }

    /// Writes as many as fit a frame or two; returns how many. They are in the table before the client
    /// can know of them.
    fn write(&self, deliveries: &[Delivery], seen: Option<&[StoredEvent]>) -> usize {
        let now = self.hub.clock.monotonic();
        let mut written = 0;
        let event = |at: usize| seen.and_then(|seen| seen.get(at)).unwrap_or_else(|| &*deliveries[at]);
        self.outbox.put(|out| {
            let mut inflight = self.inflight.lock();
            let begin = out.len();
            if self.batches && deliveries.len() > 1 {
                frame(out, |out| {
                    let mut many = self.head.begin_many(out);
                    for delivery in deliveries {
                        let left = delivery.ack_deadline_at(now);
                        inflight.add(delivery, now + left, now);
                        many.event(Some(lease_of(delivery, left)), |out| event(written).write_json(out));
                        written += 1;
                        if many.bytes_since(begin) >= FRAME_BYTES {
                            break;
                        }
                    }
                    many.end();
                });
                return;
            }
            for delivery in deliveries {
                let left = delivery.ack_deadline_at(now);
                inflight.add(delivery, now + left, now);
                let lease = Some(lease_of(delivery, left));
                frame(out, |out| self.head.write(out, lease, |out| event(written).write_json(out)));
                written += 1;
                if out.len() - begin >= FRAME_BYTES {
                    break;
                }
            }
        });
        self.tell_traces(&deliveries[..written]);
        // A closing connection takes nothing; its leases go back with the subscription.
        written.max(1)
    }
}

impl DeliveryPump {
    fn tell_traces(&self, deliveries: &[Delivery]) {
        let Some(traces) = &self.hub.traces else {
            return;
        };
        let ended_ms = self.hub.clock.now_ms();
        for delivery in deliveries {
            if let Some(parent) = TraceParent::of_stored(delivery) {
                traces.delivered(DeliverSpan {
                    topic: delivery.topic(),
                    group: self.name.group.as_deref(),
                    event: delivery,
                    parent,
                    attempt: delivery.attempt(),
                    ended_ms,
                });
            }
        }
    }
}

fn lease_of(delivery: &Delivery, left: Duration) -> LeaseTerms {
    LeaseTerms {
        attempt: delivery.attempt(),
        max_attempts: delivery.max_attempts(),
        ack_deadline_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
    }
}

fn write_assignments(out: &mut Vec<u8>, name: &SubscriptionName, seat: &MemberSeat, changes: Vec<AssignmentChange>) {
    for change in changes {
        frame(out, |out| match change {
            AssignmentChange::Assigned { topic, partitions } => {
                let told = Assignment { event_topic: topic, partitions };
                seat.note_assigned(&told);
                told.write_assigned(out, name);
            }
            AssignmentChange::Revoked { topic, partitions } => {
                let told = Assignment { event_topic: topic, partitions };
                seat.note_revoked(&told);
                told.write_revoked(out, name);
            }
        });
    }
}

pub fn write_gaps(out: &mut Vec<u8>, name: &SubscriptionName, gaps: Vec<Gap>) {
    for gap in gaps {
        frame(out, |out| gap::write(&gap, out, name));
    }
}
