//! Parking: a key whose event failed for good stops, and the other keys go on.
//!
//! ```text
//!   at the limit ──letter──▶ parked ◀──letters── its later events, as they are scanned
//!                               │ ▲
//!                     given back│ │dead again: it stays first, the rest waits
//!                               ▼ │
//!                             its first event ──acked──▶ the next one ──none left──▶ unparked
//! ```
//!
//! What is parked lies in the store; here are the keys alone, and at most one event of each. So memory follows the number of
//! parked keys, which is bounded: at the bound, events of further keys wait at their limit.
//!
//! Promises: of a parked key one event at a time is handed out, by offset; none of its events passes another on its way
//! behind the key; it is unparked when the store has none of it left and none is on its way there.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use prom_types::Offset;

use super::Dispatcher;
use super::unsettled::{DeadLetter, EventState, Unsettled};

/// Whether keys whose events fail are parked from now on. Those that are parked stay so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Parking {
    /// Their events go to the dead letters one by one.
    #[default]
    Off,
    /// They are.
    On,
}

/// What becomes of an event with its dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetterFate {
    /// It is settled.
    Settles,
    /// It is settled, and its key parked.
    Parks {
        /// The hash of the key.
        key: u64,
    },
    /// It is settled, and lies behind its parked key.
    Follows {
        /// The hash of the key.
        key: u64,
    },
    /// It was given back, and is dead again.
    GivenBack {
        /// The hash of its key, if that is parked.
        parked: Option<u64>,
    },
}

/// What the store has as the first event of a parked key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstParked {
    /// One that is not given back, or not settled yet: the key waits.
    Held {
        /// It is to be looked for again once this is settled.
        until_settled: Option<Offset>,
    },
    /// One that [`Dispatcher::give`] has taken in.
    Given,
    /// One that [`Dispatcher::give`] holds back, because an earlier one is on its way.
    Behind,
    /// None.
    Nothing,
}

#[derive(Debug, Default)]
pub(super) struct ParkedKeys {
    keys: HashMap<u64, ParkedKey, FixedState>,
    /// Keys whose first event is to be looked up.
    unknown: BTreeSet<u64>,
    /// The same once an offset is settled.
    early: BTreeMap<Offset, u64>,
    /// Events on their way behind their keys: their letters are not durable yet.
    followers: BTreeMap<Offset, u64>,
    /// Events whose letters are on their way and park their keys, with their lanes.
    parking: BTreeMap<Offset, (u64, u32)>,
    /// Events at their limit whose keys cannot be parked.
    without_room: BTreeSet<Offset>,
}

#[derive(Debug)]
struct ParkedKey {
    followers: usize,
    first: First,
}

/// What is known of a parked key's first event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    /// To be looked up.
    Unknown,
    /// It is among the given events.
    Out,
    /// It waits until somebody gives it back.
    Held,
    /// One is on its way to the store: none is there, or none that is before it.
    Coming,
}

impl Dispatcher {
    /// These keys are parked; for a dispatcher that begins.
    pub fn load_parked(&mut self, keys: impl IntoIterator<Item = u64>) {
        for key in keys {
            let parked = self.parked.get_or_insert_default();
            parked.keys.insert(key, ParkedKey { followers: 0, first: First::Unknown });
            parked.unknown.insert(key);
        }
    }

    /// From now on keys are parked, or not.
    pub fn set_parking(&mut self, parking: Parking) {
        self.options.parking = parking;
        if parking == Parking::Off {
            self.retry_without_room();
        }
    }

    /// How many keys are parked.
    pub fn parked_keys(&self) -> usize {
        self.parked.as_ref().map_or(0, |parked| parked.keys.len())
    }

    /// No key is parked, and none is about to be.
    pub fn parks_nothing(&self) -> bool {
        self.parked.is_none()
    }

    /// Keys whose first event is to be looked up now. One that [`Dispatcher::give`] knows is done: the next one counts.
    pub fn firsts_wanted(&mut self, most: usize) -> Vec<u64> {
        while let Some((&offset, &key)) = self.parked.as_ref().and_then(|parked| parked.early.first_key_value()) {
            if !self.is_ready_to_be_given(offset, Some(key)) {
                break;
            }
            if let Some(parked) = &mut self.parked {
                parked.early.remove(&offset);
            }
            self.look_at_parked(key);
        }
        let Some(parked) = &self.parked else {
            return Vec::new();
        };
        parked.unknown.iter().copied().take(most).collect()
    }

    /// Whether the first event of a parked key waits until the scan has come by.
    pub(super) fn parked_waits_for_scan(&self) -> bool {
        let early = self.parked.as_ref().and_then(|parked| parked.early.first_key_value());
        early.is_some_and(|(offset, _)| *offset >= self.scan_next)
    }

    /// The answer for one of [`Self::firsts_wanted`].
    pub fn first_found(&mut self, key: u64, found: FirstParked) {
        let Some(parked) = &mut self.parked else {
            return;
        };
        let Some(parked_key) = parked.keys.get_mut(&key) else {
            return;
        };
        parked.unknown.remove(&key);
        parked_key.first = match found {
            FirstParked::Given => First::Out,
            FirstParked::Behind => First::Coming,
            FirstParked::Held { until_settled } => {
                parked.early.extend(until_settled.map(|offset| (offset, key)));
                First::Held
            }
            FirstParked::Nothing if parked_key.followers > 0 => First::Coming,
            FirstParked::Nothing => return self.unpark(key),
        };
    }

    /// Something of the key was given back or given up: its first event is looked up again.
    pub fn look_at_parked(&mut self, key: u64) {
        let is_out = |one: &ParkedKey| one.first == First::Out;
        if self.parked.as_ref().and_then(|parked| parked.keys.get(&key)).is_some_and(|one| !is_out(one)) {
            self.set_first(key, First::Unknown);
        }
    }

    /// The first event of the key that was not behind it when it was asked.
    pub fn not_parked_from(&self, key: u64) -> Offset {
        let on_their_way = self.parked.iter().flat_map(|parked| &parked.followers);
        let first = on_their_way.filter(|(_, of)| **of == key).map(|(offset, _)| *offset).next();
        first.unwrap_or(self.scan_next)
    }

    /// What would become of an event with a letter that is written now.
    pub fn fate(&self, offset: Offset) -> LetterFate {
        if let Some(given) = &self.given
            && let Some(parked) = given.parked_key(offset)
        {
            return LetterFate::GivenBack { parked };
        }
        if let Some(key) = self.parked.as_ref().and_then(|parked| parked.followers.get(&offset)) {
            return LetterFate::Follows { key: *key };
        }
        match self.unsettled.get(offset).and_then(|event| event.key) {
            Some(key) if self.is_parked(key) => LetterFate::Follows { key },
            Some(key) if self.options.parking == Parking::On => LetterFate::Parks { key },
            _ => LetterFate::Settles,
        }
    }

    /// The fate of an event whose letter is about to be written although it is leased; `None` if its key cannot be parked now.
    pub fn condemn(&mut self, offset: Offset) -> Option<LetterFate> {
        let fate = self.fate(offset);
        match fate {
            LetterFate::Parks { .. } if !self.has_room_to_park() => return None,
            // The letter says all of it, and must not be undone by what was counted before.
            LetterFate::GivenBack { .. } => self.changes.forget_failure(offset),
            _ => self.note_fate(offset, fate),
        }
        Some(fate)
    }

    /// A letter that was to be written will not be: the event was settled by other means.
    pub fn letter_forgotten(&mut self, offset: Offset) {
        let Some(parked) = &mut self.parked else {
            return;
        };
        parked.parking.remove(&offset);
        parked.without_room.remove(&offset);
        if let Some(key) = parked.followers.remove(&offset) {
            self.follower_ended(key);
        }
        self.forget_empty_parking();
    }

    pub(super) fn has_room_to_park(&self) -> bool {
        let taken = self.parked.as_ref().map_or(0, |parked| parked.keys.len() + parked.parking.len());
        taken < self.options.limits.parked_keys
    }

    /// An event at its limit waits because no more keys can be parked.
    pub(super) fn lacks_room_to_park(&self) -> bool {
        self.parked.as_ref().is_some_and(|parked| !parked.without_room.is_empty())
    }

    pub(super) fn wait_for_room(&mut self, offset: Offset) {
        self.parked.get_or_insert_default().without_room.insert(offset);
    }

    /// Remembers what the letter of this event does when it is durable.
    pub(super) fn note_fate(&mut self, offset: Offset, fate: LetterFate) {
        let lane = self.unsettled.get(offset).map_or(0, |event| event.lane);
        match fate {
            LetterFate::Parks { key } => {
                self.parked.get_or_insert_default().parking.insert(offset, (key, lane));
            }
            LetterFate::Follows { key } => {
                let parked = self.parked.get_or_insert_default();
                if parked.followers.insert(offset, key).is_none()
                    && let Some(parked_key) = parked.keys.get_mut(&key)
                {
                    parked_key.followers += 1;
                }
            }
            LetterFate::Settles | LetterFate::GivenBack { .. } => {}
        }
    }

    /// The letter could not be written; it is decided again what it does.
    pub(super) fn fate_undone(&mut self, offset: Offset) {
        if let Some(parked) = &mut self.parked {
            parked.parking.remove(&offset);
        }
    }

    /// The letter of this event is durable, and so is what it parks: the key that is parked now.
    pub(super) fn fate_done(&mut self, offset: Offset) -> Option<u64> {
        let parked = self.parked.as_mut()?;
        if let Some((key, lane)) = parked.parking.remove(&offset) {
            self.park(key, lane);
            return Some(key);
        }
        let follows = parked.followers.remove(&offset)?;
        self.follower_ended(follows);
        None
    }

    /// Whether an earlier event of the key is on its way behind it.
    pub(super) fn is_behind_a_follower(&self, key: u64, offset: Offset) -> bool {
        self.parked.as_ref().is_some_and(|parked| parked.followers.range(..offset).any(|(_, of)| *of == key))
    }

    pub(super) fn is_parked(&self, key: u64) -> bool {
        self.parked.as_ref().is_some_and(|parked| parked.keys.contains_key(&key))
    }

    /// An event of a parked key was scanned, or waited for its key when that was parked.
    pub(super) fn follow(&mut self, offset: Offset, key: u64, lane: u32) {
        self.note_fate(offset, LetterFate::Follows { key });
        // The key is not its own to keep blocked: the parked events have it.
        let state = EventState::Dead(DeadLetter::Queued { failed_writes: 0 });
        self.unsettled.put(offset, Unsettled { key: None, lane, state });
    }

    pub(super) fn set_first(&mut self, key: u64, first: First) {
        let Some(parked) = &mut self.parked else {
            return;
        };
        if let Some(parked_key) = parked.keys.get_mut(&key) {
            parked_key.first = first;
            match first {
                First::Unknown => parked.unknown.insert(key),
                _ => parked.unknown.remove(&key),
            };
        }
    }

    /// The key is parked, durably. What waited for it follows.
    fn park(&mut self, key: u64, lane: u32) {
        let parked = self.parked.get_or_insert_default();
        parked.keys.entry(key).or_insert(ParkedKey { followers: 0, first: First::Held });
        self.changes.parked_again(key);
        for offset in self.keys.take_all(key) {
            self.follow(offset, key, lane);
        }
        // One that was given back before may wait for the key.
        self.next_given_of(key);
    }

    fn unpark(&mut self, key: u64) {
        let Some(parked) = &mut self.parked else {
            return;
        };
        parked.keys.remove(&key);
        self.changes.unpark(key);
        self.retry_without_room();
        self.forget_empty_parking();
    }

    fn retry_without_room(&mut self) {
        let Some(parked) = &mut self.parked else {
            return;
        };
        for offset in std::mem::take(&mut parked.without_room) {
            if let Some(event) = self.unsettled.take(offset) {
                let state = EventState::Dead(DeadLetter::Queued { failed_writes: 0 });
                self.unsettled.put(offset, Unsettled { state, ..event });
            }
        }
    }

    fn follower_ended(&mut self, key: u64) {
        let Some(parked_key) = self.parked.as_mut().and_then(|parked| parked.keys.get_mut(&key)) else {
            return;
        };
        parked_key.followers = parked_key.followers.saturating_sub(1);
        if parked_key.first == First::Coming {
            self.set_first(key, First::Unknown);
        }
    }

    fn forget_empty_parking(&mut self) {
        let is_empty = |parked: &ParkedKeys| {
            parked.keys.is_empty()
                && parked.parking.is_empty()
                && parked.followers.is_empty()
                && parked.without_room.is_empty()
        };
        if self.parked.as_deref().is_some_and(is_empty) {
            self.parked = None;
        }
    }
}
