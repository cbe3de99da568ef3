//! The tree of an event: upwards over `caused_by`, downwards over the index of causes.
//!
//! Promises: a tree has a bounded number of nodes, also where causes form a circle: an event that was drawn before is named again
//! and not followed. It is no deeper than common readers of JSON accept. It ends at what the reader may not read: causes of which
//! it knows the id already stay unknown, and effects are left out, which the trace says.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use prom_engine::{Bus, EventStanding, GroupInfo, LetterOutcome, LetterRef, Located, StandingState, StoredEvent};
use prom_types::{EpochMs, EventId, GroupName, TopicName};
use serde::Deserialize;

use super::Tracer;
use super::index::{TraceIndex, TracePlace};
use crate::JobError;
use crate::limits::{TRACE_CATCH_UP, TRACE_DELIVERIES, TRACE_LOCATE, TRACE_NESTING, TRACE_NODES};

/// What the one who asks may see.
pub trait TraceRights: Send + Sync {
    /// Whether events of a topic may be read.
    fn may_read(&self, topic: &TopicName) -> bool;
    /// Whether it may be told how a group does with a topic.
    fn may_see(&self, topic: &TopicName, group: &GroupName) -> bool;
    /// Whether events of a topic are seen whole, although parts of them are hidden from others.
    fn may_see_whole(&self, topic: &TopicName) -> bool;
}

/// An event with its causes and effects.
#[derive(Debug)]
pub struct Trace {
    /// The event.
    pub root: TraceNode,
    /// Events that the index has not read yet: effects among them are missing.
    pub behind: u64,
    /// There are effects, or groups, that the reader may not see.
    pub hidden: bool,
    /// The tree was cut, as it has too many nodes.
    pub is_cut: bool,
}

/// An event in a tree.
#[derive(Debug)]
pub struct TraceNode {
    /// Its id.
    pub id: EventId,
    /// `None` where nothing more is known, or told, of it.
    pub event: Option<TraceEvent>,
    /// It stands elsewhere in the tree with everything about it.
    pub is_repeated: bool,
    /// Events that led to it; only above the root.
    pub causes: Vec<TraceNode>,
    /// Events that it led to; only at and below the root.
    pub effects: Vec<TraceNode>,
}

/// What is known of an event.
#[derive(Debug)]
pub struct TraceEvent {
    /// Where it is.
    pub place: TracePlace,
    /// Whether it is still stored. What is not is known from what it led to or from what led to it.
    pub is_retained: bool,
    /// Its times and its key, while it is retained.
    pub ts: Option<EpochMs>,
    /// By the hub's clock.
    pub stored_ts: Option<EpochMs>,
    /// Its key.
    pub key: Option<String>,
    /// How groups do with it, as far as it is stored.
    pub deliveries: Vec<TraceDelivery>,
}

/// An event and a group.
#[derive(Debug)]
pub struct TraceDelivery {
    /// How far the group is with it.
    pub standing: EventStanding,
    /// Its dead letter.
    pub letter: Option<TraceLetter>,
}

/// A dead letter of an event.
#[derive(Debug)]
pub struct TraceLetter {
    /// The id of the letter.
    pub id: EventId,
    /// Where the letter is.
    pub place: TracePlace,
    /// What the group gave up with, where that may be told.
    pub err: Option<String>,
    /// Failed attempts.
    pub attempts: u32,
    /// When it was written.
    pub ts: EpochMs,
    /// Events as which it was published again.
    pub replayed: Vec<TraceNode>,
}

#[derive(Deserialize)]
struct LetterText {
    err: String,
    attempts: u32,
    ts: EpochMs,
}

struct Drawing<'a> {
    bus: &'a Bus,
    rights: &'a dyn TraceRights,
    groups: Vec<GroupInfo>,
    drawn: HashSet<EventId>,
    hidden: bool,
    is_cut: bool,
    /// Looks for ids in all topics that may still be made.
    look_until: Duration,
    deliveries_left: usize,
}

/// A node before its children are hung onto it.
struct Flat {
    node: TraceNode,
    parent: Option<usize>,
    hangs: Hangs,
    /// Levels of JSON around it, within the tree.
    nesting: usize,
}

/// Where a node hangs on its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hangs {
    Above,
    Below,
    /// Below a letter of this delivery.
    Replayed(usize),
}

impl Tracer {
    /// The tree of an event; `None` where there is no such event that may be read. `topic` says where it is, if that is known.
    pub async fn trace(
        &self,
        bus: &Bus,
        id: EventId,
        topic: Option<&TopicName>,
        rights: &dyn TraceRights,
    ) -> Result<Option<Trace>, JobError> {
        let behind = self.catch_up(bus, TRACE_CATCH_UP).await?;
        let mut drawing = Drawing {
            bus,
            rights,
            groups: bus.groups().await?,
            drawn: HashSet::from([id]),
            hidden: false,
            is_cut: false,
            look_until: bus.clock().monotonic() + TRACE_LOCATE,
            deliveries_left: TRACE_DELIVERIES,
        };
        let Some((place, event)) = drawing.find(id, topic).await? else {
            return Ok(None);
        };
        let root = drawing.draw(id, place, event).await?;
        let Drawing { hidden, is_cut, .. } = drawing;
        Ok(Some(Trace { root, behind, hidden, is_cut }))
    }
}

impl Drawing<'_> {
    /// Where an event is that may be read, and the event if it is still there.
    async fn find(
        &self,
        id: EventId,
        topic: Option<&TopicName>,
    ) -> Result<Option<(TracePlace, Option<StoredEvent>)>, JobError> {
        let is_asked = |candidate: &TopicName| topic.is_none_or(|topic| topic == candidate);
        let mut gone = None;
        for place in TraceIndex::places(self.bus, id).await? {
            if !is_asked(&place.topic) || !self.rights.may_read(&place.topic) {
                continue;
            }
            match self.event_at(&place, id).await? {
                Some(event) => return Ok(Some((place, Some(event)))),
                None => gone = Some((place, None)),
            }
        }
        if gone.is_some() {
            return Ok(gone);
        }
        let left = self.look_until.saturating_sub(self.bus.clock().monotonic());
        if left.is_zero() {
            return Ok(None);
        }
        let among = |candidate: &TopicName| is_asked(candidate) && self.rights.may_read(candidate);
        match self.bus.locate(id, &among, left).await? {
            Located::Here(event) => Ok(Some((place_of(&event), Some(*event)))),
            Located::Nowhere | Located::TimeIsUp => Ok(None),
        }
    }

    async fn event_at(&self, place: &TracePlace, id: EventId) -> Result<Option<StoredEvent>, JobError> {
        let event = self.bus.event_at(&place.topic, place.partition, place.offset).await?;
        Ok(event.filter(|event| event.id() == id))
    }

    /// Level by level, so that a tree that is cut has what is nearest.
    async fn draw(
        &mut self,
        id: EventId,
        place: TracePlace,
        event: Option<StoredEvent>,
    ) -> Result<TraceNode, JobError> {
        let mut flats: Vec<Flat> = Vec::new();
        // The root goes both ways.
        let root = self.node(id, place, event.as_ref()).await?;
        let causes = event.map_or_else(Vec::new, |event| event.caused_by());
        flats.push(Flat { node: root, parent: None, hangs: Hangs::Below, nesting: 0 });
        let mut due: VecDeque<(usize, Hangs, Vec<EventId>)> = VecDeque::from([(0, Hangs::Below, Vec::new())]);
        if !causes.is_empty() {
            due.push_back((0, Hangs::Above, causes));
        }
        while let Some((at, hangs, causes)) = due.pop_front() {
            match hangs {
                Hangs::Above => {
                    for cause in causes {
                        self.cause(at, cause, &mut flats, &mut due).await?;
                    }
                }
                Hangs::Below | Hangs::Replayed(_) => {
                    self.effects_of(at, flats[at].node.id, Hangs::Below, &mut flats, &mut due).await?;
                    for (number, letter) in letters_of(&flats[at].node) {
                        self.effects_of(at, letter, Hangs::Replayed(number), &mut flats, &mut due).await?;
                    }
                }
            }
        }
        Ok(assemble(flats, id))
    }

    async fn cause(
        &mut self,
        below: usize,
        id: EventId,
        flats: &mut Vec<Flat>,
        due: &mut VecDeque<(usize, Hangs, Vec<EventId>)>,
    ) -> Result<(), JobError> {
        let Some(nesting) = self.room_for(flats, below, Hangs::Above) else {
            return Ok(());
        };
        let parent = Some(below);
        if !self.drawn.insert(id) {
            flats.push(Flat { node: repeated(id), parent, hangs: Hangs::Above, nesting });
            return Ok(());
        }
        let node = match self.find(id, None).await? {
            Some((place, event)) => {
                let causes = event.as_ref().map_or_else(Vec::new, StoredEvent::caused_by);
                if !causes.is_empty() {
                    due.push_back((flats.len(), Hangs::Above, causes));
                }
                self.node(id, place, event.as_ref()).await?
            }
            None => unknown(id),
        };
        flats.push(Flat { node, parent, hangs: Hangs::Above, nesting });
        Ok(())
    }

    async fn effects_of(
        &mut self,
        above: usize,
        cause: EventId,
        hangs: Hangs,
        flats: &mut Vec<Flat>,
        due: &mut VecDeque<(usize, Hangs, Vec<EventId>)>,
    ) -> Result<(), JobError> {
        for (id, place) in TraceIndex::effects(self.bus, cause).await? {
            if !self.rights.may_read(&place.topic) {
                self.hidden = true;
                continue;
            }
            let Some(nesting) = self.room_for(flats, above, hangs) else {
                return Ok(());
            };
            let parent = Some(above);
            if !self.drawn.insert(id) {
                flats.push(Flat { node: repeated(id), parent, hangs, nesting });
                continue;
            }
            let event = self.event_at(&place, id).await?;
            due.push_back((flats.len(), Hangs::Below, Vec::new()));
            let node = self.node(id, place, event.as_ref()).await?;
            flats.push(Flat { node, parent, hangs, nesting });
        }
        Ok(())
    }

    /// How deep another node would be below this one; `None` where the tree ends.
    fn room_for(&mut self, flats: &[Flat], parent: usize, hangs: Hangs) -> Option<usize> {
        let levels = match hangs {
            Hangs::Above | Hangs::Below => 2,
            // Event, deliveries, delivery, letter, events as which it was published again.
            Hangs::Replayed(_) => 6,
        };
        let nesting = flats.get(parent).map_or(0, |parent| parent.nesting) + levels;
        let has_room = flats.len() < TRACE_NODES && nesting <= TRACE_NESTING;
        self.is_cut |= !has_room;
        has_room.then_some(nesting)
    }

    async fn node(
        &mut self,
        id: EventId,
        place: TracePlace,
        event: Option<&StoredEvent>,
    ) -> Result<TraceNode, JobError> {
        let deliveries = match event {
            Some(event) => self.deliveries(event).await?,
            None => Vec::new(),
        };
        let event = TraceEvent {
            place,
            is_retained: event.is_some(),
            ts: event.map(StoredEvent::ts),
            stored_ts: event.map(StoredEvent::stored_ts),
            key: event.and_then(|event| event.key().map(str::to_owned)),
            deliveries,
        };
        Ok(TraceNode { event: Some(event), ..unknown(id) })
    }

    async fn deliveries(&mut self, event: &StoredEvent) -> Result<Vec<TraceDelivery>, JobError> {
        let topic = event.topic();
        // They may quote the payload.
        let tells_reasons = self.rights.may_see_whole(topic) || self.bus.mask_of(topic).await?.is_none();
        let mut deliveries = Vec::new();
        for group in &self.groups {
            if !group.patterns().any(|pattern| pattern.matches(topic)) {
                continue;
            }
            if !self.rights.may_see(topic, &group.name) {
                self.hidden = true;
                continue;
            }
            let Some(left) = self.deliveries_left.checked_sub(1) else {
                self.is_cut = true;
                break;
            };
            self.deliveries_left = left;
            let mut standing = self.bus.standing(event, group).await?;
            let (letter, outcome) = self.letter(event, &group.name).await?.unzip();
            let letter = letter.map(|letter| TraceLetter { err: letter.err.filter(|_| tells_reasons), ..letter });
            if let (StandingState::Settled, Some(outcome)) = (standing.state, outcome) {
                standing.state = state_after(&outcome);
            }
            if !tells_reasons {
                standing.failures.reason = None;
            }
            deliveries.push(TraceDelivery { standing, letter });
        }
        Ok(deliveries)
    }

    /// The newest letter of an event, and what became of it.
    async fn letter(
        &self,
        event: &StoredEvent,
        group: &GroupName,
    ) -> Result<Option<(TraceLetter, LetterOutcome)>, JobError> {
        let may_read = event.topic().dead_letters().is_some_and(|letters| self.rights.may_read(&letters));
        if !may_read {
            return Ok(None);
        }
        let Some(letter) = self.bus.letter_of(event, group).await? else {
            return Ok(None);
        };
        let LetterText { err, attempts, ts } = letter.payload()?;
        let outcomes = self.bus.letter_outcomes(event.topic(), &[LetterRef::of(&letter)?]).await?;
        let (id, place) = (letter.id(), place_of(&letter));
        let told = TraceLetter { id, place, err: Some(err), attempts, ts, replayed: Vec::new() };
        Ok(Some((told, outcomes.into_iter().next().unwrap_or(LetterOutcome::NotGivenBack))))
    }
}

/// Where an event is whose offset is settled and that has a letter.
fn state_after(outcome: &LetterOutcome) -> StandingState {
    match outcome {
        LetterOutcome::Acked { .. } => StandingState::Settled,
        LetterOutcome::Waiting { failed_attempts: 0, .. } => StandingState::Queued,
        LetterOutcome::Waiting { .. } => StandingState::Waiting,
        LetterOutcome::NotGivenBack
        | LetterOutcome::Parked
        | LetterOutcome::DeadAgain { .. }
        | LetterOutcome::Dropped { .. }
        | LetterOutcome::Gone { .. } => StandingState::Dead,
    }
}

fn place_of(event: &StoredEvent) -> TracePlace {
    TracePlace { topic: event.topic().clone(), partition: event.partition(), offset: event.offset() }
}

fn unknown(id: EventId) -> TraceNode {
    TraceNode { id, event: None, is_repeated: false, causes: Vec::new(), effects: Vec::new() }
}

fn repeated(id: EventId) -> TraceNode {
    TraceNode { is_repeated: true, ..unknown(id) }
}

/// The letters of an event, by the number of the delivery.
fn letters_of(node: &TraceNode) -> Vec<(usize, EventId)> {
    let deliveries = node.event.iter().flat_map(|event| event.deliveries.iter().enumerate());
    deliveries.filter_map(|(number, delivery)| Some((number, delivery.letter.as_ref()?.id))).collect()
}

/// Children stand behind their parents, so hanging up from the end finds each child whole.
fn assemble(mut flats: Vec<Flat>, root: EventId) -> TraceNode {
    while let Some(Flat { node, parent, hangs, .. }) = flats.pop() {
        let Some(parent) = parent.and_then(|parent| flats.get_mut(parent)) else {
            return node;
        };
        let siblings = match hangs {
            Hangs::Above => &mut parent.node.causes,
            Hangs::Below => &mut parent.node.effects,
            Hangs::Replayed(number) => {
                let delivery = parent.node.event.as_mut().and_then(|event| event.deliveries.get_mut(number));
                match delivery.and_then(|delivery| delivery.letter.as_mut()) {
                    Some(letter) => &mut letter.replayed,
                    None => &mut parent.node.effects,
                }
            }
        };
        siblings.insert(0, node);
    }
    unknown(root)
}
