//! Walks in which events fail for good, keys park, and letters are given back, with commits that fail and hubs that die.
//!
//! Beside the dispatcher stands a store that knows letters, parked keys and given events as documents, and changes only when a
//! commit succeeds. After each step nothing may have been handed out that was not to be; at the end everything is acked, in the
//! order of its key, and each letter was written once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use prom_engine::dispatch::{
    Backoff, Changes, Dead, DispatchLimits, DispatchOptions, Dispatcher, FirstParked, GiveAnswer, GivenEvent,
    GivenStep, LeaseId, Leaving, LetterFate, Order, Parking, ScannedEvent, SubscriberId,
};
use prom_store::{Bounds, CursorState, Failures};
use prom_types::Offset;

use crate::rng::Rng;

const KEYS: u64 = 4;
const BACKLOG: u64 = 60;
const ACK_TIMEOUT: Duration = Duration::from_millis(200);

/// What a store would have after the last commit that succeeded.
#[derive(Default)]
struct Stored {
    cursor: CursorState,
    /// By key: from which offset on events go on behind what is given back.
    keys: BTreeMap<u64, Option<Offset>>,
    /// By key and offset: whether it is given back, and how often it failed since.
    parked: BTreeMap<(u64, Offset), (bool, Failures)>,
    /// Given back, and not parked.
    queue: BTreeMap<Offset, Failures>,
    /// How often each event had been given back when its newest letter was written.
    newest: BTreeMap<Offset, u32>,
    /// Events whose newest letter is not given back.
    dead: BTreeSet<Offset>,
    letters: BTreeSet<(Offset, u32)>,
    acked: BTreeSet<Offset>,
}

pub struct ParkingWalk {
    rng: Rng,
    options: DispatchOptions,
    dispatcher: Dispatcher,
    stored: Stored,
    keys: Vec<Option<u64>>,
    now: Duration,
    committing: Option<Changes>,
    burying: Vec<Dead>,
    held: BTreeMap<Offset, (SubscriberId, LeaseId)>,
    /// Acked in memory by this dispatcher, per key, and the last of each.
    last_acked: BTreeMap<u64, Offset>,
}

impl ParkingWalk {
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let options = DispatchOptions {
            order: Order::Key,
            parking: if rng.percent(75) { Parking::On } else { Parking::Off },
            max_attempts: rng.between(1, 3) as u32,
            backoff: Backoff::new(Duration::from_millis(1), Duration::from_millis(20)),
            lanes: None,
            limits: DispatchLimits {
                waiting: rng.between(2, 20) as usize,
                look_ahead: rng.between(2, 40) as usize,
                ready: rng.between(1, 24) as usize,
                given: rng.between(1, 10) as usize,
                parked_keys: rng.between(1, KEYS + 1) as usize,
                ..DispatchLimits::default()
            },
        };
        let dispatcher = Dispatcher::new(options.clone(), CursorState::default(), Bounds::default(), seed);
        let mut walk = Self {
            options,
            dispatcher,
            stored: Stored::default(),
            keys: Vec::new(),
            now: Duration::ZERO,
            committing: None,
            burying: Vec::new(),
            held: BTreeMap::new(),
            last_acked: BTreeMap::new(),
            rng,
        };
        walk.dispatcher.join(0, ACK_TIMEOUT);
        walk
    }

    pub fn run(mut self, steps: u64) {
        for _ in 0..steps {
            match self.rng.below(1000) {
                0..150 => self.append(),
                150..280 => self.scan(),
                280..460 => self.lease(),
                460..640 => self.end_one(55),
                640..720 => self.bury(),
                720..800 => self.commit(),
                800..860 => self.give_back(),
                860..940 => self.page_in(),
                940..975 => self.pass_a_little(),
                975..985 => self.leave(),
                985..992 => self.restart(),
                _ => self.pass(ACK_TIMEOUT),
            }
            self.check();
        }
        self.drain();
    }

    fn next(&self) -> Offset {
        self.keys.len() as Offset
    }

    fn bounds(&self) -> Bounds {
        Bounds { start: 0, next: self.next() }
    }

    fn append(&mut self) {
        if self.next() - self.dispatcher.floor() < BACKLOG {
            let key = self.rng.percent(90).then(|| self.rng.below(KEYS));
            self.keys.push(key);
            self.dispatcher.bounds_moved(self.bounds());
        }
    }

    fn scan(&mut self) {
        let Some(scan) = self.dispatcher.wants_scan() else {
            return;
        };
        let next = self.next().min(scan.from + self.rng.between(1, scan.events as u64));
        let seen =
            |offset: Offset| ScannedEvent { offset, key_hash: self.keys[offset as usize], lane: 0, wanted: true };
        let seen: Vec<_> = (scan.from..next).map(seen).collect();
        self.dispatcher.scanned(scan.from, next, seen);
    }

    fn lease(&mut self) {
        let mut leased = Vec::new();
        let room = self.rng.between(1, 6) as usize;
        self.dispatcher.lease(self.now, 0, room, &mut leased);
        for event in leased {
            let (offset, key) = (event.offset, self.keys[event.offset as usize]);
            assert!(!self.stored.acked.contains(&offset), "{offset} was acked durably");
            assert!(!self.held.contains_key(&offset), "{offset} is leased twice");
            let of_key = |other: &&Offset| key.is_some() && self.keys[**other as usize] == key;
            assert_eq!(self.held.keys().find(of_key), None, "two of one key with {offset}");
            self.held.insert(offset, (0, event.lease));
        }
    }

    /// Acks one that is held, in so many of a hundred cases; else it fails.
    fn end_one(&mut self, acks: u64) {
        let held: Vec<Offset> = self.held.keys().copied().collect();
        let Some(offset) = self.rng.pick(&held) else {
            return;
        };
        let Some((who, lease)) = self.held.remove(&offset) else {
            return;
        };
        if self.rng.percent(acks) {
            self.dispatcher.ack(who, offset, lease).unwrap();
            self.note_ack(offset);
        } else {
            self.dispatcher.nack(self.now, who, offset, lease, None, Some(Duration::ZERO)).unwrap();
        }
    }

    /// Where keys park, no event passes an earlier one of its key.
    fn note_ack(&mut self, offset: Offset) {
        let Some(key) = self.keys[offset as usize].filter(|_| self.options.parking == Parking::On) else {
            return;
        };
        if let Some(before) = self.last_acked.insert(key, offset) {
            assert!(before < offset, "of key {key} {offset} was acked after {before}");
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.dispatcher.tick(self.now);
        let now = self.now;
        let dispatcher = &mut self.dispatcher;
        self.held.retain(|offset, (who, lease)| dispatcher.modack(now, *who, *offset, *lease, ACK_TIMEOUT).is_ok());
    }

    fn pass_a_little(&mut self) {
        let time = self.rng.millis(0, 30);
        self.pass(time);
    }

    fn leave(&mut self) {
        self.dispatcher.leave(self.now, 0, Leaving::Shutdown);
        self.held.clear();
        self.dispatcher.join(0, ACK_TIMEOUT);
    }

    fn bury(&mut self) {
        if self.burying.is_empty() {
            self.burying = self.dispatcher.take_dead();
        }
        if self.burying.is_empty() {
            return;
        }
        let at = self.rng.below(self.burying.len() as u64) as usize;
        let dead = self.burying.remove(at);
        if self.rng.percent(25) {
            return self.dispatcher.dead_letter_failed(self.now, dead.offset);
        }
        self.write_letter(&dead);
        self.dispatcher.dead_letter_written(dead.offset);
    }

    fn write_letter(&mut self, dead: &Dead) {
        let (offset, stored) = (dead.offset, &mut self.stored);
        let again = matches!(dead.fate, LetterFate::GivenBack { .. });
        let time = stored.newest.get(&offset).map_or(0, |newest| newest + u32::from(again));
        stored.newest.insert(offset, time);
        assert!(stored.letters.insert((offset, time)), "the letter of {offset}, given back {time} times, is there");
        stored.dead.insert(offset);
        if !matches!(dead.fate, LetterFate::GivenBack { .. }) {
            stored.cursor.apply(std::slice::from_ref(&(offset..offset + 1)), &[]);
        }
        match dead.fate {
            LetterFate::Settles => {}
            LetterFate::Parks { key } => {
                stored.keys.insert(key, None);
                stored.parked.insert((key, offset), (false, Failures::default()));
            }
            LetterFate::Follows { key } => {
                assert!(stored.keys.contains_key(&key), "{offset} follows a key that is not parked");
                stored.parked.insert((key, offset), (false, Failures::default()));
            }
            LetterFate::GivenBack { parked: Some(key) } => {
                stored.keys.insert(key, None);
                stored.parked.insert((key, offset), (false, Failures::default()));
            }
            LetterFate::GivenBack { parked: None } => drop(stored.queue.remove(&offset)),
        }
    }

    fn commit(&mut self) {
        match self.committing.take() {
            None => self.committing = self.dispatcher.take_changes(),
            Some(changes) if self.rng.percent(30) => self.dispatcher.restore_changes(changes),
            Some(changes) => self.finish_commit(changes),
        }
    }

    fn finish_commit(&mut self, changes: Changes) {
        self.stored.cursor.apply(&changes.settled, &changes.failures);
        for range in &changes.settled {
            let unparked = range.clone().filter(|offset| !self.stored.letters.iter().any(|(at, _)| at == offset));
            self.stored.acked.extend(unparked);
        }
        for (offset, step) in &changes.given {
            let key = self.keys[*offset as usize].unwrap_or(u64::MAX);
            match step {
                GivenStep::Failed(failures) => {
                    if let Some(parked) = self.stored.parked.get_mut(&(key, *offset)) {
                        parked.1 = failures.clone();
                    } else if let Some(waiting) = self.stored.queue.get_mut(offset) {
                        *waiting = failures.clone();
                    }
                }
                GivenStep::Acked | GivenStep::Gone => {
                    self.stored.parked.remove(&(key, *offset));
                    self.stored.queue.remove(offset);
                    self.stored.dead.remove(offset);
                    assert!(self.stored.acked.insert(*offset), "{offset} was acked before");
                }
            }
        }
        for key in &changes.unparked {
            let left = self.stored.parked.range((*key, 0)..(*key, Offset::MAX)).next();
            assert_eq!(left, None, "key {key} is unparked and not empty");
            self.stored.keys.remove(key);
        }
        self.dispatcher.given_is_durable(&changes.given);
    }

    /// An operator gives letters back; the order waits for the commits under way.
    fn give_back(&mut self) {
        while !self.burying.is_empty() {
            let dead = self.burying.remove(0);
            self.write_letter(&dead);
            self.dispatcher.dead_letter_written(dead.offset);
        }
        for changes in self.committing.take().into_iter().chain(self.dispatcher.take_changes()).collect::<Vec<_>>() {
            self.finish_commit(changes);
        }
        let dead: Vec<Offset> = self.stored.dead.iter().copied().collect();
        for _ in 0..self.rng.between(1, 4) {
            if let Some(offset) = self.rng.pick(&dead) {
                self.give_one(offset);
            }
        }
    }

    fn give_one(&mut self, offset: Offset) {
        if !self.stored.dead.remove(&offset) {
            return;
        }
        let key = self.keys[offset as usize].filter(|key| self.stored.keys.contains_key(key));
        match key {
            Some(key) => {
                self.stored.parked.insert((key, offset), (true, Failures::default()));
                self.stored.keys.insert(key, Some(self.dispatcher.not_parked_from(key)));
                self.dispatcher.look_at_parked(key);
            }
            None => drop(self.stored.queue.insert(offset, Failures::default())),
        }
    }

    fn page_in(&mut self) {
        for key in self.dispatcher.firsts_wanted(3) {
            let found = self.find_first(key);
            self.dispatcher.first_found(key, found);
        }
        let waiting: Vec<(Offset, Failures)> = self.stored.queue.clone().into_iter().collect();
        for (offset, failures) in waiting {
            if !self.dispatcher.wants_given() {
                break;
            }
            let key_hash = self.keys[offset as usize];
            let event = GivenEvent { offset, key_hash, lane: 0, failures, parked: None };
            if self.dispatcher.give(event) == GiveAnswer::Unsettled {
                break;
            }
        }
    }

    fn find_first(&mut self, key: u64) -> FirstParked {
        let mut from = 0;
        loop {
            let first = self.stored.parked.range((key, from)..(key, Offset::MAX)).next();
            let Some((&(_, offset), (given, failures))) = first.map(|(at, parked)| (at, parked.clone())) else {
                return FirstParked::Nothing;
            };
            let flows_from = self.stored.keys.get(&key).copied().flatten();
            if !given && flows_from.is_none_or(|from| offset < from) {
                return FirstParked::Held { until_settled: None };
            }
            let event = GivenEvent { offset, key_hash: Some(key), lane: 0, failures, parked: Some(key) };
            match self.dispatcher.give(event) {
                GiveAnswer::Taken => return FirstParked::Given,
                GiveAnswer::Behind => return FirstParked::Behind,
                GiveAnswer::Unsettled => return FirstParked::Held { until_settled: Some(offset) },
                GiveAnswer::Known => from = offset + 1,
            }
        }
    }

    /// The hub dies, and another goes on from what was stored.
    fn restart(&mut self) {
        let (options, cursor) = (self.options.clone(), self.stored.cursor.clone());
        self.dispatcher = Dispatcher::new(options, cursor, self.bounds(), self.rng.next());
        self.dispatcher.load_parked(self.stored.keys.keys().copied());
        self.dispatcher.join(0, ACK_TIMEOUT);
        (self.committing, self.burying) = (None, Vec::new());
        self.held.clear();
        self.last_acked.clear();
    }

    fn check(&self) {
        let status = self.dispatcher.status();
        assert!(self.stored.cursor.floor <= status.floor, "the stored floor is ahead");
        assert_eq!(status.in_flight, self.held.len(), "leases");
        assert!(status.parked_keys <= self.options.limits.parked_keys, "{status:?}");
        let firsts = self.options.limits.parked_keys;
        assert!(status.given <= self.options.limits.given + firsts, "{status:?}");
    }

    /// Nothing fails any more, and everything is given back: all of it must be acked.
    fn drain(&mut self) {
        for _ in 0..20_000 {
            if self.stored.acked.len() as Offset == self.next() && self.stored.keys.is_empty() {
                break;
            }
            self.scan();
            self.lease();
            while !self.held.is_empty() {
                self.end_one(100);
            }
            self.burying.extend(self.dispatcher.take_dead());
            self.give_back();
            (0..4).for_each(|_| self.page_in());
            self.pass(Duration::from_millis(30));
            self.check();
        }
        let missing: Vec<Offset> = (0..self.next()).filter(|offset| !self.stored.acked.contains(offset)).collect();
        assert!(missing.is_empty(), "{missing:?} were never acked: {:?}", self.dispatcher.status());
        assert!(self.stored.keys.is_empty() && self.stored.parked.is_empty() && self.stored.queue.is_empty());
        assert_eq!((self.stored.cursor.floor, self.dispatcher.floor()), (self.next(), self.next()));
        assert!(self.dispatcher.has_given_all() && self.dispatcher.parks_nothing());
    }
}
