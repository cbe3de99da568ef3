//! One random walk: the same step is taken by the dispatcher and by the reference, then everything
//! is compared. Beside them stands the stored cursor, fed only by what was committed; a restart
//! goes on from it.

mod settle;
mod store;

use std::time::Duration;

use prom_engine::dispatch::{
    Backoff, Changes, DispatchLimits, DispatchOptions, Dispatcher, LeaseId, Leased, Leaving, Order, Parking,
    ScanRequest, ScannedEvent, SubscriberId,
};
use prom_store::{Bounds, CursorState};
use prom_types::Offset;

use crate::reference::{Fact, Member, Place, Reference};
use crate::rng::Rng;

const SUBSCRIBERS: u64 = 3;
const KEYS: u64 = 5;
/// Enough to reach every limit, small enough to look at all of it after every step.
const BACKLOG: u64 = 120;

pub struct Walk {
    rng: Rng,
    dispatcher: Dispatcher,
    reference: Reference,
    stored: CursorState,
    now: Duration,
    /// A scan that was asked for and not yet answered.
    scanning: Option<ScanRequest>,
    /// A commit under way.
    committing: Option<Changes>,
    /// Letters under way.
    burying: Vec<Offset>,
    /// Every lease of this dispatcher, also those long gone.
    leases: Vec<(SubscriberId, Offset, LeaseId)>,
}

fn options(rng: &mut Rng) -> DispatchOptions {
    let first = rng.millis(1, 200);
    DispatchOptions {
        order: if rng.percent(50) { Order::Key } else { Order::None },
        max_attempts: rng.between(1, 4) as u32,
        backoff: Backoff::new(first, first * rng.between(1, 20) as u32),
        lanes: None,
        parking: Parking::Off,
        limits: DispatchLimits {
            ranges_above: rng.between(1, 30) as usize,
            waiting: rng.between(1, 20) as usize,
            look_ahead: rng.between(1, 40) as usize,
            ready: rng.between(1, 24) as usize,
            ..DispatchLimits::default()
        },
    }
}

impl Walk {
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let options = options(&mut rng);
        let mut walk = Self {
            dispatcher: Dispatcher::new(options.clone(), CursorState::default(), Bounds::default(), seed),
            reference: Reference::new(options),
            stored: CursorState::default(),
            now: Duration::ZERO,
            scanning: None,
            committing: None,
            burying: Vec::new(),
            leases: Vec::new(),
            rng,
        };
        walk.join();
        walk
    }

    pub fn run(mut self, steps: u64) {
        for _ in 0..steps {
            self.step();
            self.check();
        }
        self.drain();
    }

    fn step(&mut self) {
        match self.rng.below(1000) {
            0..120 => self.append(),
            120..250 => self.scan(),
            250..290 => self.join(),
            290..310 => self.leave(),
            310..330 => self.pause_or_resume(),
            330..530 => self.lease(),
            530..680 => self.ack_live(),
            680..700 => self.settle_stale(),
            700..780 => self.nack_live(),
            780..820 => self.modack(),
            820..890 => self.pass(),
            890..900 => self.trim(),
            900..903 => self.reset(),
            903..943 => self.commit(),
            943..973 => self.bury(),
            973..980 => self.vanish(),
            980..995 => self.released(),
            995..997 => self.restart(),
            // Time that no tick has seen yet: late acks, late extensions.
            _ => self.now += self.rng.millis(0, 100),
        }
    }

    fn check(&mut self) {
        self.reference.check(&self.dispatcher.status(), self.dispatcher.next_deadline());
        assert_eq!(self.dispatcher.floor(), self.reference.floor);
        assert!(self.stored.floor <= self.reference.floor, "the stored floor is ahead");
    }

    fn bounds(&self) -> Bounds {
        Bounds { start: self.reference.start, next: self.reference.next() }
    }

    fn append(&mut self) {
        for _ in 0..self.rng.between(1, 12) {
            if self.reference.next() - self.reference.floor >= BACKLOG {
                break;
            }
            let fact = Fact {
                exists: self.rng.percent(92),
                wanted: self.rng.percent(85),
                key: self.rng.percent(80).then(|| self.rng.below(KEYS)),
            };
            self.reference.append(fact);
        }
        self.dispatcher.bounds_moved(self.bounds());
    }

    /// Asks, or answers what was asked; the answer may be short, and may come late.
    fn scan(&mut self) {
        let Some(scan) = self.scanning.take() else {
            self.scanning = self.dispatcher.wants_scan();
            if let Some(scan) = self.scanning {
                assert_eq!(scan.from, self.reference.scan_next);
                assert!(scan.events > 0);
            }
            return;
        };
        let wish = self.rng.between(1, scan.events as u64) as usize;
        let (mut next, mut seen) = (scan.from, Vec::new());
        while next < self.reference.next() && seen.len() < wish {
            let fact = self.reference.log[next as usize];
            if fact.exists && next >= self.reference.start {
                seen.push(ScannedEvent { offset: next, key_hash: fact.key, lane: 0, wanted: fact.wanted });
            }
            next += 1;
        }
        self.dispatcher.scanned(scan.from, next, seen);
        self.reference.scanned(scan.from, next);
    }

    fn join(&mut self) {
        let who = self.rng.below(SUBSCRIBERS);
        let ack_timeout = if self.rng.percent(60) {
            self.rng.millis(10, 400)
        } else {
            // Long leases, quickly acked: what they leave behind must be cleared away in time.

            self.rng.millis(5_000, 60_000)
        };
        self.dispatcher.join(who, ack_timeout);
        let paused = self.reference.members.get(&who).is_some_and(|member| member.paused);
        self.reference.members.insert(who, Member { ack_timeout, paused });
    }

    fn leave(&mut self) {
        let who = self.rng.below(SUBSCRIBERS);
        let (leaving, counted) = if self.rng.percent(70) { (Leaving::Returned, 1) } else { (Leaving::Shutdown, 0) };
        self.dispatcher.leave(self.now, who, leaving);
        self.reference.tick(self.now);
        self.reference.leave(who, counted);
    }

    fn pause_or_resume(&mut self) {
        let (who, paused) = (self.rng.below(SUBSCRIBERS), self.rng.percent(30));
        if paused {
            self.dispatcher.pause(who)
        } else {
            self.dispatcher.resume(who)
        }
        if let Some(member) = self.reference.members.get_mut(&who) {
            member.paused = paused;
        }
    }

    fn lease(&mut self) {
        let (who, room) = (self.rng.below(SUBSCRIBERS), self.rng.between(1, 12) as usize);
        self.lease_to(who, room);
    }

    fn lease_to(&mut self, who: SubscriberId, room: usize) -> Vec<Leased> {
        let mut leased = Vec::new();
        self.dispatcher.lease(self.now, who, room, &mut leased);
        assert!(leased.len() <= room);
        let Some(member) = self.reference.members.get(&who).copied() else {
            assert!(leased.is_empty(), "a stranger got {leased:?}");
            return leased;
        };
        for &event in &leased {
            self.reference.lease(self.now, who, event);
            self.leases.push((who, event.offset, event.lease));
        }
        if leased.len() < room && !member.paused {
            self.reference.nothing_left(&self.dispatcher.status());
        }
        leased
    }

    fn pass(&mut self) {
        self.now += self.rng.millis(0, 150);
        self.tick();
    }

    fn tick(&mut self) {
        self.dispatcher.tick(self.now);
        self.reference.tick(self.now);
        let next = self.dispatcher.next_deadline();
        assert!(next.is_none_or(|next| next > self.now), "{next:?} was left behind at {:?}", self.now);
    }

    fn trim(&mut self) {
        let (from, to) = (self.reference.start, self.reference.next());
        let start = (from + self.rng.below(20)).min(to);
        self.reference.trim(start);
        self.dispatcher.bounds_moved(self.bounds());
    }

    fn reset(&mut self) {
        let floor = self.rng.between(self.reference.start.saturating_sub(3), self.reference.next());
        self.dispatcher.reset(floor, self.bounds());
        for (_, hold) in self.reference.holds() {
            self.reference.release(hold.subscriber);
        }
        self.stored = CursorState::at(floor);
        self.reference.begin_at(&self.stored);
        self.burying.clear();
        // Refused by the store, because the epoch is another.
        if let Some(late) = self.committing.take() {
            self.dispatcher.restore_changes(late);
        }
    }

    fn vanish(&mut self) {
        if self.reference.floor == self.reference.scan_next {
            return;
        }
        let offset = self.rng.between(self.reference.floor, self.reference.scan_next - 1);
        self.dispatcher.vanished(offset);
        if let Place::Leased(hold) = self.reference.place(offset) {
            self.reference.release(hold.subscriber);
        }
        self.reference.settle(offset);
    }

    fn released(&mut self) {
        let mut released = Vec::new();
        self.dispatcher.released(&mut released);
        released.sort_unstable();
        let expected: Vec<_> = std::mem::take(&mut self.reference.released).into_iter().collect();
        assert_eq!(released, expected, "the room given back");
    }

    /// Lets the group come to rest: every event must end settled, or dead and then settled.
    fn drain(&mut self) {
        self.dispatcher.join(0, Duration::from_millis(50));
        self.dispatcher.resume(0);
        let ack_timeout = Duration::from_millis(50);
        self.reference.members.insert(0, Member { ack_timeout, paused: false });
        for _ in 0..100_000 {
            if self.reference.floor == self.reference.next() {
                break;
            }
            self.scan();
            for event in self.lease_to(0, 100) {
                if self.rng.percent(90) {
                    self.ack(0, event.offset, event.lease)
                } else {
                    self.nack(0, event.offset, event.lease)
                }
            }
            self.take_dead();
            while let Some(offset) = self.burying.pop() {
                self.written(offset);
            }
            self.now += Duration::from_millis(20);
            self.tick();
            self.check();
        }
        assert_eq!(self.reference.floor, self.reference.next(), "the group never came to rest");
        if let Some(changes) = self.committing.take() {
            self.dispatcher.restore_changes(changes);
        }
        self.committing = self.dispatcher.take_changes();
        self.finish_commit();
        assert_eq!(self.stored.floor, self.reference.next(), "the stored cursor came short");
        assert!(self.stored.above.is_empty() && self.stored.failures.is_empty(), "{:?}", self.stored);
    }
}
