//! Events from the moment they were handed over until their answer: those that travel together, as the text that
//! frames carry.
//!
//! An event is written when it is handed over, behind those that wait already, and never touched again: sending it,
//! and sending it again, copies text. What is kept of it besides is where its text is, its id, what it takes of the
//! room, and who waits for it.

use std::sync::Arc;
use std::time::Duration;

use prom_protocol::frame::err::MaybeStored;
use prom_protocol::frame::ok::BatchReceipt;
use prom_protocol::frame::publish;
use prom_types::{Durability, EpochMs, EventId, IdMaker, NewEvent, Receipt};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::Error;
use crate::client::ended;
use crate::limits::{BATCH_FRAME_BYTES, BATCH_FRAME_EVENTS, DEADLINE_SLACK};
use crate::room::{RoomShare, frame_bytes};
use crate::slots::{AnswerSlot, Slots};

#[derive(Debug)]
pub(crate) struct Pending {
    /// The events, with commas between them.
    text: Vec<u8>,
    items: Vec<PendingItem>,
    watchers: Watchers,
    place: RoomShare,
    /// Given up when this has passed. Open until the connection learns of it, unless it had to wait for room before.
    pub deadline: Option<Instant>,
    /// The order in which its first event was handed over.
    pub number: u64,
    /// It left at least once: it may be stored.
    pub was_sent: bool,
    /// When the first event was handed over: close enough for the ids of all.
    opened_ms: EpochMs,
}

#[derive(Debug, Clone, Copy)]
struct PendingItem {
    id: EventId,
    begin: usize,
    end: usize,
    /// What it takes of the room.
    cost: u32,
    slot: u32,
}

pub(crate) type BatchReply = oneshot::Sender<Result<Vec<Receipt>, Error>>;

#[derive(Debug)]
enum Watchers {
    /// Every event for itself.
    Each(Arc<Slots>),
    /// All or nothing.
    All(BatchReply),
    /// They have been told: it only keeps the place of an answer that is still to come.
    Told(Atomicity),
}

/// Whether events are stored all or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Atomicity {
    Atomic,
    Independent,
}

/// How much travels together: the next is most often like the last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Size {
    bytes: usize,
    events: usize,
}

/// What became of one event.
pub(crate) enum Fate {
    Stored(BatchReceipt),
    Failed(Error),
    /// Send it again.
    Again,
}

impl Pending {
    /// For events that are independent of each other. `deadline` where they waited for room.
    pub fn open(place: RoomShare, opened_ms: EpochMs, deadline: Option<Instant>, about: Size) -> Self {
        let mut pending = Self::of(Watchers::Each(Arc::default()), place, opened_ms);
        pending.text.reserve(about.bytes);
        pending.items.reserve(about.events);
        pending.deadline = deadline;
        pending
    }

    /// An atomic batch. The events have their ids.
    pub fn batch(events: Vec<NewEvent>, place: RoomShare, reply: BatchReply, deadline: Option<Instant>) -> Self {
        let mut pending = Self::of(Watchers::All(reply), place, 0);
        pending.deadline = deadline;
        let ids = IdMaker::new();
        events.into_iter().for_each(|event| pending.write(event, &ids, 0));
        pending
    }

    fn of(watchers: Watchers, place: RoomShare, opened_ms: EpochMs) -> Self {
        let (text, items) = (Vec::new(), Vec::new());
        Self { text, items, watchers, place, deadline: None, number: 0, was_sent: false, opened_ms }
    }

    /// Whether the event may travel with these.
    pub fn welcomes(&self, event: &NewEvent, deadline: Option<Instant>) -> bool {
        let same_time = match (self.deadline, deadline) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => theirs.saturating_duration_since(ours) <= DEADLINE_SLACK,
            _ => false,
        };
        same_time
            && matches!(self.watchers, Watchers::Each(_))
            && self.items.len() < BATCH_FRAME_EVENTS
            && self.text.len() + frame_bytes(event) <= BATCH_FRAME_BYTES
    }

    /// Takes an event along that has entered the room at this cost.
    pub fn add(&mut self, event: NewEvent, ids: &IdMaker, cost: u32, deadline: Option<Instant>) -> AnswerSlot {
        let at = self.items.len() as u32;
        self.deadline = self.deadline.max(deadline);
        self.place.grow(cost);
        self.write(event, ids, cost);
        let slots = match &self.watchers {
            Watchers::Each(slots) => slots.clone(),
            Watchers::All(_) | Watchers::Told(_) => Arc::default(),
        };
        AnswerSlot { slots, at }
    }

    fn write(&mut self, mut event: NewEvent, ids: &IdMaker, cost: u32) {
        if !self.items.is_empty() {
            self.text.push(b',');
        }
        let id = *event.id.get_or_insert_with(|| ids.make(self.opened_ms));
        let begin = self.text.len();
        publish::write_event(&mut self.text, &event);
        self.items.push(PendingItem { id, begin, end: self.text.len(), cost, slot: self.items.len() as u32 });
    }

    pub fn size(&self) -> Size {
        Size { bytes: self.text.len(), events: self.items.len() }
    }

    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn text(&self) -> &[u8] {
        &self.text
    }

    pub fn is_atomic(&self) -> bool {
        matches!(self.watchers, Watchers::All(_) | Watchers::Told(Atomicity::Atomic))
    }

    /// Answered already.
    pub fn is_over(&self) -> bool {
        matches!(self.watchers, Watchers::Told(_))
    }

    /// How many of its events fit, at least one.
    pub fn fitting(&self, events: usize, bytes: usize) -> usize {
        self.items.partition_point(|item| item.end <= bytes).min(events).max(1)
    }

    /// Cuts it in two behind `at` events and returns the second part. Atomic batches must not be cut.
    pub fn split_off(&mut self, at: usize) -> Self {
        let items = self.items.split_off(at);
        let mut rest = self.like_this(self.number + at as u64);
        items.into_iter().for_each(|item| rest.copy(&self.text, item));
        self.place.give(&mut rest);
        self.text.truncate(self.items.last().map_or(0, |last| last.end));
        rest
    }

    /// For some of its events.
    fn like_this(&self, number: u64) -> Self {
        let watchers = match &self.watchers {
            Watchers::Each(slots) => Watchers::Each(slots.clone()),
            Watchers::All(_) | Watchers::Told(_) => Watchers::Told(Atomicity::Independent),
        };
        let mut pending = Self::of(watchers, self.place.empty(), self.opened_ms);
        (pending.deadline, pending.number, pending.was_sent) = (self.deadline, number, self.was_sent);
        pending
    }

    fn copy(&mut self, text: &[u8], item: PendingItem) {
        if !self.items.is_empty() {
            self.text.push(b',');
        }
        let begin = self.text.len();
        self.text.extend_from_slice(&text[item.begin..item.end]);
        self.items.push(PendingItem { begin, end: self.text.len(), ..item });
    }

    /// Tells what became of each event, in their order; returns those to send again.
    pub fn tell_each(mut self, durability: Durability, fates: impl Iterator<Item = Fate>) -> Option<Self> {
        let Watchers::Each(slots) = &self.watchers else {
            // Told before; those behind it want their own.
            fates.for_each(drop);
            return None;
        };
        let mut again: Vec<PendingItem> = Vec::new();
        slots.answer(self.items.iter().zip(fates).filter_map(|(item, fate)| match fate {
            Fate::Stored(placed) => Some((item.slot, Ok(item.receipt(placed, durability)))),
            Fate::Failed(error) => Some((item.slot, Err(error))),
            Fate::Again => {
                again.push(*item);
                None
            }
        }));
        let rest = (!again.is_empty()).then(|| {
            let mut rest = self.like_this(self.number);
            again.into_iter().for_each(|item| rest.copy(&self.text, item));
            self.place.give(&mut rest);
            rest
        });
        self.watchers = Watchers::Told(Atomicity::Independent);
        rest
    }

    /// All events of an atomic batch are stored.
    pub fn tell_all(mut self, durability: Durability, placed: impl Iterator<Item = BatchReceipt>) {
        let receipts = self.items.iter().zip(placed).map(|(item, placed)| item.receipt(placed, durability)).collect();
        if let Watchers::All(reply) = std::mem::replace(&mut self.watchers, Watchers::Told(Atomicity::Atomic)) {
            let _caller_may_be_gone = reply.send(Ok(receipts));
        }
    }

    /// The only event is stored.
    pub fn tell_one(mut self, receipt: Receipt) {
        match std::mem::replace(&mut self.watchers, Watchers::Told(Atomicity::Independent)) {
            Watchers::Each(slots) => {
                slots.answer(self.items.iter().take(1).map(|item| (item.slot, Ok(receipt.clone()))))
            }
            Watchers::All(reply) => {
                let _caller_may_be_gone = reply.send(Ok(vec![receipt]));
            }
            Watchers::Told(_) => {}
        }
    }

    pub fn fail(&mut self, error: &Error) {
        self.place = self.place.empty();
        let together = if self.is_atomic() { Atomicity::Atomic } else { Atomicity::Independent };
        match std::mem::replace(&mut self.watchers, Watchers::Told(together)) {
            Watchers::Each(slots) => slots.answer(self.items.iter().map(|item| (item.slot, Err(error.clone())))),
            Watchers::All(reply) => {
                let _caller_may_be_gone = reply.send(Err(error.clone()));
            }
            Watchers::Told(_) => {}
        }
    }

    /// The time is over, or no connection will come. `give_up_after` is the time it was given.
    pub fn give_up(&mut self, give_up_after: Duration, reason: &str) {
        let left = self.deadline.map_or(Duration::ZERO, |at| at.saturating_duration_since(Instant::now()));
        let after = give_up_after.saturating_sub(left);
        let stored = if self.was_sent { MaybeStored::Unknown } else { MaybeStored::No };
        self.fail(&Error::GaveUp { after, stored, reason: reason.to_owned() });
    }
}

impl PendingItem {
    fn receipt(&self, placed: BatchReceipt, durability: Durability) -> Receipt {
        let BatchReceipt { partition, offset, stored_ts, id, duplicate } = placed;
        Receipt { id: id.unwrap_or(self.id), partition, offset, stored_ts, durability, duplicate }
    }
}

impl RoomShare {
    /// What its events take goes with them.
    fn give(&mut self, to: &mut Pending) {
        let cost = to.items.iter().map(|item| item.cost as usize).sum();
        to.place = self.split(cost);
    }
}

/// No caller waits forever.
impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_over() {
            self.fail(&ended());
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use prom_types::TopicName;
    use serde_json::{Value, json};

    use super::*;
    use crate::room::Room;

    pub fn event(payload: Value) -> NewEvent {
        NewEvent::new(TopicName::parse("a").unwrap(), payload)
    }

    /// These payloads, and who waits for each.
    pub fn pending(payloads: std::ops::Range<u32>, room: &Arc<Room>) -> (Pending, Vec<AnswerSlot>) {
        let mut pending = Pending::open(RoomShare::nothing(room), 1, None, Size::default());
        let ids = IdMaker::new();
        let claims = payloads.map(|payload| {
            let event = event(json!(payload));
            let cost = room.cost(std::slice::from_ref(&event));
            assert!(room.try_take(cost));
            pending.add(event, &ids, cost, None)
        });
        let claims = claims.collect();
        (pending, claims)
    }

    pub fn payloads(pending: &Pending) -> Vec<u64> {
        let text = format!("[{}]", String::from_utf8(pending.text().to_vec()).unwrap());
        let events: Vec<Value> = serde_json::from_str(&text).unwrap();
        events.iter().map(|event| event["payload"].as_u64().unwrap()).collect()
    }

    fn answer(claim: &AnswerSlot) -> Option<Result<Receipt, Error>> {
        match claim.poll(&std::task::Context::from_waker(std::task::Waker::noop())) {
            std::task::Poll::Ready(answer) => answer,
            std::task::Poll::Pending => None,
        }
    }

    fn placed(offset: u64) -> BatchReceipt {
        BatchReceipt { partition: 0, offset, stored_ts: 1, id: None, duplicate: false }
    }

    #[test]
    fn a_cut_keeps_every_event_its_watcher_and_its_room() {
        let room = Arc::new(Room::new(10, 10_000));
        let (mut first, claims) = pending(0..5, &room);
        let rest = first.split_off(2);
        assert_eq!((payloads(&first), payloads(&rest)), (vec![0, 1], vec![2, 3, 4]));
        assert_eq!(rest.number, first.number + 2);
        let stored = |from: u64| (from..).map(|offset| Fate::Stored(placed(offset)));
        assert!(rest.tell_each(Durability::Os, stored(2)).is_none());
        assert!(answer(&claims[0]).is_none());
        assert_eq!(answer(&claims[4]).unwrap().unwrap().offset, 4);
        drop(first);
        assert!(matches!(answer(&claims[0]), Some(Err(Error::Closed { .. }))), "no caller waits forever");
        assert!(room.try_take(10_000), "all of the room is free");
    }

    #[test]
    fn those_to_be_sent_again_stay_and_the_others_are_told() {
        let room = Arc::new(Room::new(10, 10_000));
        let (all, claims) = pending(0..3, &room);
        let fates = [Fate::Again, Fate::Failed(Error::closed("no")), Fate::Again];
        let again = all.tell_each(Durability::Os, fates.into_iter()).unwrap();
        assert_eq!(payloads(&again), [0, 2]);
        assert!(matches!(answer(&claims[1]), Some(Err(_))) && answer(&claims[2]).is_none());
        assert!(again.tell_each(Durability::Fsync, (7..).map(|at| Fate::Stored(placed(at)))).is_none());
        assert_eq!(answer(&claims[2]).unwrap().unwrap().offset, 8);
        assert!(room.try_take(10_000));
    }

    #[test]
    fn one_that_was_given_up_takes_its_answers_all_the_same() {
        let room = Arc::new(Room::new(10, 10_000));
        let ((mut late, late_claims), (other, claims)) = (pending(0..2, &room), pending(2..3, &room));
        late.give_up(Duration::from_secs(1), "no answer");
        let mut fates = (0..).map(|offset| Fate::Stored(placed(offset)));
        assert!(late.tell_each(Durability::Os, fates.by_ref().take(2)).is_none());
        assert!(other.tell_each(Durability::Os, fates.by_ref().take(1)).is_none());
        assert!(matches!(answer(&late_claims[0]), Some(Err(Error::GaveUp { .. }))));
        assert_eq!(answer(&claims[0]).unwrap().unwrap().offset, 2, "that of its own");
    }
}
