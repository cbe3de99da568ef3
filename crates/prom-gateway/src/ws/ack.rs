//! ACK: found in what is lent, gathered with the other acks of the burst.

use prom_engine::ack_tickets;
use prom_protocol::frame::Which;
use prom_protocol::frame::ack::Ack;
use prom_protocol::frame::err::Problem;
use prom_protocol::{Corr, ErrorCode};

use super::answer::unknown_of;
use super::burst::{AckForm, Name, Reply, Waiting};
use super::connection::Connection;
use super::inflight::Found;
use super::subscription::InGroup;
use crate::problem;

impl Connection {
    pub(super) fn ack(&mut self, corr: Option<Corr>, frame: &Ack<'_>) {
        let found = match self.settling(&frame.topic, &frame.group) {
            Ok((_, group)) => group.inflight.lock().take(&frame.topic, &frame.which),
            Err(problem) => return self.burst.answer(corr, Waiting::Ready(Reply::Err(problem))),
        };
        if !is_none(&found.missing) {
            let waiting = self.ack_some(frame, found);
            return self.burst.answer(corr, waiting);
        }
        let form = match &frame.which {
            Which::Ids(ids) if ids.len() == 1 => AckForm::One,
            which => AckForm::Many { named: names(which, &found), missing: found.missing },
        };
        let count = found.tickets.len();
        self.burst.acks.extend(found.tickets);
        self.burst.answer(corr, Waiting::Ack { count, form });
    }

    /// Something is not lent to this connection: that is fine where it is settled already.
    fn ack_some(&self, frame: &Ack<'_>, found: Found) -> Waiting {
        let named = names(&frame.which, &found);
        let missing = self.missing(&frame.topic, &frame.group, found.missing);
        let acked = ack_tickets(found.tickets.into_vec());
        let one = matches!(&frame.which, Which::Ids(ids) if ids.len() == 1);
        Waiting::Later(Box::pin(async move {
            let results = acked.await;
            let missing = match missing.await {
                Ok(missing) => missing,
                Err(error) => return Reply::Err(problem::of_bus(&error)),
            };
            match unknown_of(missing, &named, &results) {
                Err(error) => Reply::Err(problem::of_bus(error)),
                Ok(unknown) if is_none(&unknown) => Reply::Ok,
                Ok(_) if one => Reply::Err(unknown_id()),
                Ok(unknown) => Reply::Unknown(unknown),
            }
        }))
    }

    /// Of what is not lent to this connection, that which is not settled either.
    pub(super) fn missing(
        &self,
        topic: &str,
        group: &str,
        missing: Which,
    ) -> impl Future<Output = Result<Which, prom_engine::Error>> + Send + use<> {
        let (bus, topic) = (self.hub.bus.clone(), topic.to_owned());
        let about = self.settling(&topic, group).ok().map(|(subscribed, in_group)| {
            let InGroup { group, .. } = in_group;
            (subscribed.patterns.clone(), group.clone())
        });
        async move {
            let Some((patterns, group)) = about else {
                return Ok(missing);
            };
            match missing {
                Which::Ids(ids) => {
                    let mut unknown = smallvec::SmallVec::new();
                    for id in ids {
                        if !bus.is_settled(&patterns, &group, id).await? {
                            unknown.push(id);
                        }
                    }
                    Ok(Which::Ids(unknown))
                }
                Which::Offsets { partition, ranges } => {
                    let ranges = bus.unsettled(&topic, partition, &group, &ranges).await?;
                    Ok(Which::Offsets { partition, ranges })
                }
            }
        }
    }
}

/// How the frame named each of the tickets that were found, in their order.
fn names(which: &Which, found: &Found) -> Vec<Name> {
    match (which, &found.missing) {
        (Which::Ids(ids), Which::Ids(missing)) => {
            let mut missing = missing.iter().peekable();
            ids.iter().filter(|id| missing.next_if_eq(id).is_none()).map(|id| Name::Id(*id)).collect()
        }
        _ => found.tickets.iter().map(|ticket| Name::Offset(ticket.offset())).collect(),
    }
}

pub fn unknown_id() -> Problem {
    let msg = "this event is not leased to this connection; if it is not settled the group hands it out again";
    Problem::new(ErrorCode::UnknownId, msg)
}

pub fn is_none(which: &Which) -> bool {
    match which {
        Which::Ids(ids) => ids.is_empty(),
        Which::Offsets { ranges, .. } => ranges.is_empty(),
    }
}
