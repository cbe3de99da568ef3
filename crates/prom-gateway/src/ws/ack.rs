//! ACK: found among the leased events, gathered with the other acks of the burst.

use prom_engine::ack_tickets;
use prom_protocol::frame::Which;
use prom_protocol::frame::ack::Ack;
use prom_protocol::frame::err::Problem;
use prom_protocol::{Corr, ErrorCode};
use prom_types::{EventId, GroupName, TopicPattern};
use smallvec::SmallVec;

use super::answer::unknown_of;
use super::burst::{AckForm, AwaitedAnswer, FrameReply};
use super::connection::Connection;
use super::inflight::NamedTickets;
use crate::problem;

/// Checking whether an id is settled reads the log, so only this many unknown ids are checked.
const LOOKED_UP: usize = 100;

impl Connection {
    pub(super) fn ack(&mut self, corr: Option<Corr>, frame: &Ack<'_>) {
        let taken =
            self.leased(&frame.topic, &frame.group, &frame.which, |inflight, which| inflight.take(&frame.topic, which));
        let found = match taken {
            Ok(found) => found,
            Err(problem) => return self.burst.answer(corr, AwaitedAnswer::Ready(FrameReply::Err(problem))),
        };
        if !found.missing.is_empty() {
            let waiting = self.ack_some(frame, found);
            return self.burst.answer(corr, waiting);
        }
        let form = if frame.which.is_one() {
            AckForm::One
        } else {
            AckForm::Many { named: found.names, missing: found.missing }
        };
        let count = found.tickets.len();
        self.burst.acks.extend(found.tickets);
        self.burst.answer(corr, AwaitedAnswer::Ack { count, form });
    }

    /// Something is not leased to this connection, which is fine if it is settled already.
    fn ack_some(&self, frame: &Ack<'_>, found: NamedTickets) -> AwaitedAnswer {
        let missing = self.missing(&frame.topic, &frame.group, found.missing);
        let acked = ack_tickets(found.tickets.into_vec());
        let (one, named) = (frame.which.is_one(), found.names);
        AwaitedAnswer::Later(Box::pin(async move {
            let results = acked.await;
            let missing = match missing.await {
                Ok(missing) => missing,
                Err(error) => return FrameReply::Err(problem::of_bus(&error)),
            };
            match unknown_of(missing, &named, &results) {
                Err(error) => FrameReply::Err(problem::of_bus(error)),
                Ok(unknown) if unknown.is_empty() => FrameReply::Ok,
                Ok(_) if one => FrameReply::Err(unknown_id()),
                Ok(unknown) => FrameReply::Unknown(unknown),
            }
        }))
    }

    /// What is neither leased to this connection nor settled.
    pub(super) fn missing(
        &self,
        topic: &str,
        group: &str,
        missing: Which,
    ) -> impl Future<Output = Result<Which, prom_engine::Error>> + Send + use<> {
        let (bus, group) = (self.hub.bus.clone(), GroupName::parse(group));
        let concrete = TopicPattern::parse(topic).ok().filter(|pattern| pattern.as_topic().is_some());
        let patterns: Vec<TopicPattern> = match concrete {
            Some(topic) => vec![topic],
            None => self
                .of_group(topic, group.as_deref().unwrap_or_default())
                .flat_map(|(subscribed, _)| subscribed.patterns.clone())
                .collect(),
        };
        let topic = topic.to_owned();
        async move {
            let Ok(group) = group else {
                return Ok(missing);
            };
            match missing {
                Which::Ids(ids) => {
                    let mut unknown: SmallVec<[EventId; 1]> = ids.iter().skip(LOOKED_UP).copied().collect();
                    for id in ids.into_iter().take(LOOKED_UP) {
                        if !bus.is_settled(&patterns, &group, id).await? {
                            unknown.push(id);
                        }
                    }
                    Ok(Which::Ids(unknown))
                }
                Which::Offsets { partition, ranges } if ranges.is_empty() || ranges.len() > LOOKED_UP => {
                    Ok(Which::Offsets { partition, ranges })
                }
                Which::Offsets { partition, ranges } => match bus.unsettled(&topic, partition, &group, &ranges).await {
                    Ok(ranges) => Ok(Which::Offsets { partition, ranges }),
                    // A pattern, or a partition that is not there: nothing of it can be settled.
                    Err(prom_engine::Error::UnknownTopic { .. } | prom_engine::Error::Invalid(_)) => {
                        Ok(Which::Offsets { partition, ranges })
                    }
                    Err(error) => Err(error),
                },
            }
        }
    }
}

pub fn unknown_id() -> Problem {
    let msg = "this event is not leased to this connection; the group redelivers it if it is not settled";
    Problem::new(ErrorCode::UnknownId, msg)
}
