//! What is lent to one subscription of one connection: from the name that a frame gives an event to
//! the ticket that settles it.
//!
//! Plain clients name events by id, batching ones by place; each kind has its own table and the other
//! way of naming is found by looking through it. What was lent and neither settled nor renewed in
//! time is forgotten when the table is larger than the window: the bus lends it again.

use std::time::Duration;

use hashbrown::HashMap;
use prom_engine::{Delivery, Ticket};
use prom_protocol::frame::Which;
use prom_types::{EventId, Offset, TopicName};
use smallvec::SmallVec;

pub struct Inflight {
    window: usize,
    lent: Lent,
}

enum Lent {
    ById(HashMap<EventId, Entry>),
    ByPlace { logs: Vec<(TopicName, u32)>, events: HashMap<(u32, Offset), (EventId, Entry)> },
}

struct Entry {
    ticket: Ticket,
    /// On the monotonic clock.
    deadline: Duration,
}

/// How the client names events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    Id,
    Place,
}

/// What a frame named: the tickets, and what is not there.
pub struct Found {
    pub tickets: SmallVec<[Ticket; 1]>,
    pub missing: Which,
}

impl Inflight {
    pub fn new(naming: Naming, window: usize) -> Self {
        let lent = match naming {
            Naming::Id => Lent::ById(HashMap::new()),
            Naming::Place => Lent::ByPlace { logs: Vec::new(), events: HashMap::new() },
        };
        Self { window, lent }
    }

    pub fn add(&mut self, delivery: &Delivery, deadline: Duration, now: Duration) {
        if self.len() >= self.window {
            self.forget_expired(now);
        }
        let entry = Entry { ticket: delivery.ticket(), deadline };
        match &mut self.lent {
            Lent::ById(events) => drop(events.insert(delivery.id(), entry)),
            Lent::ByPlace { logs, events } => {
                let log = place_of(logs, delivery.topic(), delivery.partition());
                events.insert((log, delivery.offset()), (delivery.id(), entry));
            }
        }
    }

    /// Takes what a frame named out of the table: it is about to be settled.
    pub fn take(&mut self, topic: &str, which: &Which) -> Found {
        self.find(topic, which, Self::remove)
    }

    /// Finds what a frame named and moves its deadline.
    pub fn renew(&mut self, topic: &str, which: &Which, deadline: Duration) -> Found {
        self.find(topic, which, |this, name| {
            let entry = this.get_mut(name)?;
            entry.deadline = deadline;
            Some(entry.ticket.clone())
        })
    }

    fn find(
        &mut self,
        topic: &str,
        which: &Which,
        mut get: impl FnMut(&mut Self, Name) -> Option<Ticket>,
    ) -> Found {
        let mut tickets = SmallVec::new();
        match which {
            Which::Ids(ids) => {
                let mut missing = SmallVec::new();
                for &id in ids {
                    match get(self, Name::Id(id)) {
                        Some(ticket) => tickets.push(ticket),
                        None => missing.push(id),
                    }
                }
                Found { tickets, missing: Which::Ids(missing) }
            }
            Which::Offsets { partition, ranges } => {
                let mut missing = Vec::new();
                for &range in ranges {
                    for name in self.names_in(topic, *partition, range, &mut missing) {
                        tickets.extend(get(self, name));
                    }
                }
                Found { tickets, missing: Which::Offsets { partition: *partition, ranges: missing } }
            }
        }
    }

    /// What the table has in a range of offsets; what it has not goes to `missing`, as ranges.
    fn names_in(
        &self,
        topic: &str,
        partition: u32,
        (from, to): (Offset, Offset),
        missing: &mut Vec<(Offset, Offset)>,
    ) -> Vec<Name> {
        let mut there: Vec<(Offset, Name)> = match &self.lent {
            Lent::ById(events) => events
                .iter()
                .filter(|(_, entry)| entry.is_in(topic, partition) && (from..=to).contains(&entry.ticket.offset()))
                .map(|(id, entry)| (entry.ticket.offset(), Name::Id(*id)))
                .collect(),
            Lent::ByPlace { logs, events } => {
                let Some(log) = logs.iter().position(|(name, number)| **name == *topic && *number == partition) else {
                    missing.push((from, to));
                    return Vec::new();
                };
                let log = log as u32;
                if to - from <= events.len() as u64 {
                    let known = (from..=to).filter(|&offset| events.contains_key(&(log, offset)));
                    known.map(|offset| (offset, Name::Place(log, offset))).collect()
                } else {
                    // Whoever names a huge range pays for what is lent, not for the range.
                    let ours = events.keys().filter(|(at, offset)| *at == log && (from..=to).contains(offset));
                    ours.map(|&(log, offset)| (offset, Name::Place(log, offset))).collect()
                }
            }
        };
        there.sort_unstable_by_key(|(offset, _)| *offset);
        let mut next = from;
        for (offset, _) in &there {
            if *offset > next {
                missing.push((next, offset - 1));
            }
            next = offset + 1;
        }
        if next <= to {
            missing.push((next, to));
        }
        there.into_iter().map(|(_, name)| name).collect()
    }

    fn get_mut(&mut self, name: Name) -> Option<&mut Entry> {
        match (&mut self.lent, name) {
            (Lent::ById(events), Name::Id(id)) => events.get_mut(&id),
            (Lent::ByPlace { events, .. }, Name::Place(log, offset)) => {
                events.get_mut(&(log, offset)).map(|(_, entry)| entry)
            }
            (Lent::ByPlace { events, .. }, Name::Id(id)) => {
                events.values_mut().find(|(known, _)| *known == id).map(|(_, entry)| entry)
            }
            (Lent::ById(_), Name::Place(..)) => None,
        }
    }

    fn remove(&mut self, name: Name) -> Option<Ticket> {
        let entry = match (&mut self.lent, name) {
            (Lent::ById(events), Name::Id(id)) => events.remove(&id)?,
            (Lent::ByPlace { events, .. }, Name::Place(log, offset)) => events.remove(&(log, offset))?.1,
            (Lent::ByPlace { events, .. }, Name::Id(id)) => {
                let place = events.iter().find(|(_, (known, _))| *known == id).map(|(place, _)| *place)?;
                events.remove(&place)?.1
            }
            (Lent::ById(_), Name::Place(..)) => return None,
        };
        Some(entry.ticket)
    }

    fn forget_expired(&mut self, now: Duration) {
        match &mut self.lent {
            Lent::ById(events) => events.retain(|_, entry| entry.deadline > now),
            Lent::ByPlace { events, .. } => events.retain(|_, (_, entry)| entry.deadline > now),
        }
    }

    pub fn len(&self) -> usize {
        match &self.lent {
            Lent::ById(events) => events.len(),
            Lent::ByPlace { events, .. } => events.len(),
        }
    }
}

#[derive(Clone, Copy)]
enum Name {
    Id(EventId),
    Place(u32, Offset),
}

impl Entry {
    fn is_in(&self, topic: &str, partition: u32) -> bool {
        **self.ticket.topic() == *topic && self.ticket.partition() == partition
    }
}

fn place_of(logs: &mut Vec<(TopicName, u32)>, topic: &TopicName, partition: u32) -> u32 {
    let known = logs.iter().position(|(name, number)| *number == partition && name == topic);
    let at = known.unwrap_or_else(|| {
        logs.push((topic.clone(), partition));
        logs.len() - 1
    });
    at as u32
}
