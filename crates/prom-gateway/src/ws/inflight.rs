//! What is leased to one subscription of one connection: from the name that a frame gives an event to
//! the ticket that settles it.
//!
//! An event's place (log and offset) is unique, its id only within its log; so places are the keys, and
//! for clients that name events by id there is an index from ids to places. What was leased and neither
//! settled nor renewed in time is forgotten when the table is larger than the window: the bus leases it
//! again.

use std::time::Duration;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry as MapEntry;
use prom_engine::{Delivery, Ticket};
use prom_protocol::frame::Which;
use prom_types::{EventId, Offset, TopicName};
use smallvec::{SmallVec, smallvec};

use super::burst::Name;

pub struct Inflight {
    window: usize,
    /// Topic of each log that leased something.
    logs: Vec<TopicName>,
    /// Where in the list each partition of a topic is: a subscription may have thousands.
    by_name: HashMap<TopicName, SmallVec<[LogAt; 1]>>,
    events: HashMap<EventPlace, LeasedEvent>,
    /// Kept only where the client names events by id.
    by_id: Option<HashMap<EventId, SmallVec<[EventPlace; 1]>>>,
}

/// A partition, and the place of its log in the list.
type LogAt = (u32, u32);

/// A log, by its place in the list, and an offset in it.
type EventPlace = (u32, Offset);

struct LeasedEvent {
    id: EventId,
    ticket: Ticket,
    /// On the monotonic clock.
    deadline: Duration,
}

/// How the client names events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    Id,
    Offset,
}

/// What a frame named: the tickets, and what is not there.
pub struct NamedTickets {
    pub tickets: SmallVec<[Ticket; 1]>,
    /// How the frame named each of them.
    pub names: SmallVec<[Name; 1]>,
    pub missing: Which,
}

impl Inflight {
    pub fn new(naming: Naming, window: usize) -> Self {
        let by_id = (naming == Naming::Id).then(HashMap::new);
        Self { window, logs: Vec::new(), by_name: HashMap::new(), events: HashMap::new(), by_id }
    }

    pub fn set_window(&mut self, window: usize) {
        self.window = window;
    }

    pub fn add(&mut self, delivery: &Delivery, deadline: Duration, now: Duration) {
        if self.events.len() >= self.window {
            self.forget_expired(now);
        }
        let place = (self.log_of(delivery), delivery.offset());
        let id = delivery.id();
        self.events.insert(place, LeasedEvent { id, ticket: delivery.ticket(), deadline });
        if let Some(by_id) = &mut self.by_id {
            let places = by_id.entry(id).or_default();
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }

    /// Takes what a frame named out of the table: it is about to be settled.
    pub fn take(&mut self, topic: &str, which: &Which) -> NamedTickets {
        self.find(topic, which, |this, place| {
            let leased = this.events.remove(&place)?;
            this.forget_id(leased.id, place);
            Some(leased.ticket)
        })
    }

    /// Finds what a frame named and moves its deadline.
    pub fn renew(&mut self, topic: &str, which: &Which, deadline: Duration) -> NamedTickets {
        self.find(topic, which, |this, place| {
            let leased = this.events.get_mut(&place)?;
            leased.deadline = deadline;
            Some(leased.ticket.clone())
        })
    }

    fn find(
        &mut self,
        topic: &str,
        which: &Which,
        get: impl Fn(&mut Self, EventPlace) -> Option<Ticket>,
    ) -> NamedTickets {
        let (mut tickets, mut names) = (SmallVec::new(), SmallVec::new());
        match which {
            Which::Ids(ids) => {
                let mut missing = SmallVec::new();
                for &id in ids {
                    match self.place_of(topic, id).and_then(|place| get(self, place)) {
                        Some(ticket) => {
                            tickets.push(ticket);
                            names.push(Name::Id(id));
                        }
                        None => missing.push(id),
                    }
                }
                NamedTickets { tickets, names, missing: Which::Ids(missing) }
            }
            Which::Offsets { partition, ranges } => {
                let mut missing = Vec::new();
                let Some(log) = self.log_named(topic, *partition) else {
                    return NamedTickets::nothing(which);
                };
                let leased = self.leased_if_few(log, ranges);
                for &(from, to) in ranges {
                    let begin = names.len();
                    let mut visit = |offset: Offset| {
                        if let Some(ticket) = get(self, (log, offset)) {
                            tickets.push(ticket);
                            names.push(Name::Offset(offset));
                        }
                    };
                    match &leased {
                        Some(leased) => {
                            let first = leased.partition_point(|offset| *offset < from);
                            leased[first..]
                                .iter()
                                .take_while(|offset| **offset <= to)
                                .for_each(|offset| visit(*offset));
                        }
                        None => (from..=to).for_each(visit),
                    }
                    add_holes((from, to), &names[begin..], &mut missing);
                }
                NamedTickets { tickets, names, missing: Which::Offsets { partition: *partition, ranges: missing } }
            }
        }
    }

    /// Where an event of this id is. A concrete topic decides between several; else the first leased.
    fn place_of(&self, topic: &str, id: EventId) -> Option<EventPlace> {
        let places: SmallVec<[EventPlace; 1]> = match &self.by_id {
            Some(by_id) => by_id.get(&id)?.clone(),
            None => self.events.iter().filter(|(_, leased)| leased.id == id).map(|(place, _)| *place).collect(),
        };
        let concrete = self.by_name.contains_key(topic);
        places.into_iter().find(|(log, _)| !concrete || *self.logs[*log as usize] == *topic)
    }

    fn log_named(&self, topic: &str, partition: u32) -> Option<u32> {
        at_partition(self.by_name.get(topic)?, partition)
    }

    /// All that is leased of a log, in order, where that is less than the ranges name: a frame that
    /// names huge ranges costs what is leased, not what it names.
    fn leased_if_few(&self, log: u32, ranges: &[(Offset, Offset)]) -> Option<Vec<Offset>> {
        let named = ranges.iter().fold(0u64, |sum, (from, to)| sum.saturating_add(to - from));
        (named > 2 * self.events.len() as u64).then(|| {
            let of_log = self.events.keys().filter(|(at, _)| *at == log);
            let mut offsets: Vec<Offset> = of_log.map(|(_, offset)| *offset).collect();
            offsets.sort_unstable();
            offsets
        })
    }

    fn log_of(&mut self, delivery: &Delivery) -> u32 {
        let (topic, partition) = (delivery.topic(), delivery.partition());
        let of_topic = match self.by_name.get_mut(&**topic) {
            Some(of_topic) => of_topic,
            None => self.by_name.entry(topic.clone()).or_default(),
        };
        at_partition(of_topic, partition).unwrap_or_else(|| {
            let at = u32::try_from(self.logs.len()).unwrap_or(u32::MAX);
            of_topic.push((partition, at));
            self.logs.push(topic.clone());
            at
        })
    }

    fn forget_id(&mut self, id: EventId, place: EventPlace) {
        if let Some(by_id) = &mut self.by_id
            && let MapEntry::Occupied(mut places) = by_id.entry(id)
        {
            places.get_mut().retain(|known| *known != place);
            if places.get().is_empty() {
                places.remove();
            }
        }
    }

    fn forget_expired(&mut self, now: Duration) {
        let mut expired = Vec::new();
        self.events.retain(|place, leased| {
            let live = leased.deadline > now;
            if !live {
                expired.push((leased.id, *place));
            }
            live
        });
        expired.into_iter().for_each(|(id, place)| self.forget_id(id, place));
    }
}

impl NamedTickets {
    pub fn nothing(which: &Which) -> Self {
        Self { tickets: smallvec![], names: smallvec![], missing: which.clone() }
    }
}

fn at_partition(of_topic: &[LogAt], partition: u32) -> Option<u32> {
    of_topic.iter().find(|(number, _)| *number == partition).map(|(_, at)| *at)
}

/// What lies between the offsets that are there.
fn add_holes((from, to): (Offset, Offset), there: &[Name], missing: &mut Vec<(Offset, Offset)>) {
    let mut next = Some(from);
    for name in there {
        let Name::Offset(offset) = name else { continue };
        if let Some(next) = next.filter(|next| next < offset) {
            missing.push((next, offset - 1));
        }
        next = offset.checked_add(1);
    }
    if let Some(next) = next.filter(|next| *next <= to) {
        missing.push((next, to));
    }
}
