//! The reference: for every offset of the log, one state. No ranges, no queues, no timers; whatever
//! is asked is found by looking at all of it.
//!
//! It does not choose what is handed out. It says whether a choice was allowed, and whether
//! choosing nothing was. Waits are jittered, so it knows them as the earliest and the latest end.

use std::collections::BTreeMap;
use std::time::Duration;

use prom_engine::dispatch::{
    DispatchOptions, DispatchStatus, LeaseId, Leased, Limit, NotLeased, Order, Settled, SubscriberId,
};
use prom_store::CursorState;
use prom_types::Offset;

/// What the log holds at an offset.
#[derive(Debug, Clone, Copy)]
pub struct Fact {
    pub exists: bool,
    pub wanted: bool,
    pub key: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    pub subscriber: SubscriberId,
    pub lease: LeaseId,
    pub deadline: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Unseen,
    /// May be handed out, once its wait and its key allow it.
    Free {
        earliest: Duration,
        latest: Duration,
    },
    Leased(Hold),
    /// A letter has to be written, not before `earliest`, and from `latest` on for certain.
    Dead {
        earliest: Duration,
        latest: Duration,
        failed_writes: u32,
    },
    DeadTaken {
        failed_writes: u32,
    },
    Settled,
}

#[derive(Debug, Clone, Copy)]
pub struct Member {
    pub ack_timeout: Duration,
    pub paused: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    pub attempts: u32,
    pub returns: u32,
}

#[derive(Debug)]
pub struct Reference {
    pub options: DispatchOptions,
    pub log: Vec<Fact>,
    pub places: Vec<Place>,
    pub counts: Vec<Count>,
    pub start: Offset,
    pub floor: Offset,
    pub scan_next: Offset,
    pub last_tick: Duration,
    pub last_lease: LeaseId,
    pub members: BTreeMap<SubscriberId, Member>,
    pub released: BTreeMap<SubscriberId, usize>,
    /// Leases on events that retention took.
    pub orphans: Vec<(Offset, Hold)>,
}

impl Reference {
    pub fn new(options: DispatchOptions) -> Self {
        Self {
            options,
            log: Vec::new(),
            places: Vec::new(),
            counts: Vec::new(),
            start: 0,
            floor: 0,
            scan_next: 0,
            last_tick: Duration::ZERO,
            last_lease: 0,
            members: BTreeMap::new(),
            released: BTreeMap::new(),
            orphans: Vec::new(),
        }
    }

    pub fn next(&self) -> Offset {
        self.log.len() as Offset
    }

    pub fn append(&mut self, fact: Fact) {
        self.log.push(fact);
        self.places.push(Place::Unseen);
        self.counts.push(Count::default());
    }

    pub fn place(&self, offset: Offset) -> Place {
        self.places.get(offset as usize).copied().unwrap_or(Place::Unseen)
    }

    pub fn is_settled(&self, offset: Offset) -> bool {
        offset < self.floor || self.place(offset) == Place::Settled
    }

    pub fn settle(&mut self, offset: Offset) {
        self.places[offset as usize] = Place::Settled;
        self.counts[offset as usize] = Count::default();
        self.advance();
    }

    fn advance(&mut self) {
        while self.floor < self.next() && self.place(self.floor) == Place::Settled {
            self.floor += 1;
        }
        self.scan_next = self.scan_next.max(self.floor);
        while self.scan_next < self.next() && self.place(self.scan_next) == Place::Settled {
            self.scan_next += 1;
        }
    }

    pub fn scanned(&mut self, from: Offset, next: Offset) {
        if from > self.scan_next || next <= self.scan_next {
            return;
        }
        let first = self.scan_next;
        self.scan_next = next;
        for offset in first..next {
            let fact = self.log[offset as usize];
            if self.place(offset) != Place::Unseen {
                continue;
            }
            if !fact.exists || !fact.wanted {
                self.settle(offset);
            } else if self.is_at_limit(offset) {
                self.queue_dead(offset);
            } else {
                self.free(offset);
            }
        }
        self.advance();
    }

    fn is_at_limit(&self, offset: Offset) -> bool {
        let (count, max) = (self.counts[offset as usize], self.options.max_attempts);
        count.attempts >= max || count.returns >= 4 * max
    }

    fn free(&mut self, offset: Offset) {
        self.places[offset as usize] = Place::Free { earliest: Duration::ZERO, latest: Duration::ZERO };
    }

    fn queue_dead(&mut self, offset: Offset) {
        self.places[offset as usize] =
            Place::Dead { earliest: Duration::ZERO, latest: Duration::ZERO, failed_writes: 0 };
    }

    /// The earliest and the latest end of a wait that begins now.
    pub fn wait(&self, now: Duration, failures: u32) -> (Duration, Duration) {
        let backoff = self.options.backoff;
        let mut longest_ms = backoff.first_ms;
        for _ in 1..failures {
            longest_ms = (longest_ms * 2).min(backoff.max_ms);
        }
        let longest = Duration::from_millis(longest_ms.min(backoff.max_ms));
        (now + longest - longest / 4, now + longest)
    }

    pub fn fail(&mut self, now: Duration, offset: Offset, delay: Option<Duration>) {
        self.counts[offset as usize].attempts += 1;
        if self.is_at_limit(offset) {
            return self.queue_dead(offset);
        }
        let (earliest, latest) = match delay {
            Some(Duration::ZERO) => return self.free(offset),
            Some(delay) => (now + delay, now + delay),
            None => self.wait(now, self.counts[offset as usize].attempts),
        };
        self.places[offset as usize] = Place::Free { earliest, latest };
    }

    pub fn release(&mut self, subscriber: SubscriberId) {
        if self.members.contains_key(&subscriber) {
            *self.released.entry(subscriber).or_default() += 1;
        }
    }

    /// Every offset that is leased, with its lease, those that retention took included.
    pub fn holds(&self) -> Vec<(Offset, Hold)> {
        let mut holds = self.orphans.clone();
        for offset in self.floor..self.next() {
            if let Place::Leased(hold) = self.place(offset) {
                holds.push((offset, hold));
            }
        }
        holds
    }

    /// What an ack or a nack must answer; ends the lease if it is live.
    pub fn end_lease(&mut self, who: SubscriberId, offset: Offset, lease: LeaseId) -> Result<Settled, NotLeased> {
        let mine = |hold: &Hold| hold.subscriber == who && hold.lease == lease;
        if let Some(at) = self.orphans.iter().position(|(at, hold)| *at == offset && mine(hold)) {
            self.orphans.remove(at);
            self.release(who);
            return Ok(Settled::AlreadySettled);
        }
        match self.place(offset) {
            Place::Leased(hold) if mine(&hold) => {
                self.release(who);
                Ok(Settled::Now)
            }
            _ if self.is_settled(offset) => Ok(Settled::AlreadySettled),
            _ => Err(NotLeased),
        }
    }

    pub fn tick(&mut self, now: Duration) {
        self.last_tick = self.last_tick.max(now);
        for (offset, hold) in self.holds() {
            if hold.deadline > now {
                continue;
            }
            let ended = self.end_lease(hold.subscriber, offset, hold.lease);
            if ended == Ok(Settled::Now) {
                self.fail(now, offset, None);
            }
        }
    }

    /// A subscriber is gone: what it held is given back, and counted if that is a failure.
    pub fn leave(&mut self, who: SubscriberId, counted: u32) {
        for (offset, hold) in self.holds() {
            if hold.subscriber == who && self.end_lease(who, offset, hold.lease) == Ok(Settled::Now) {
                self.counts[offset as usize].returns += counted;
                if self.is_at_limit(offset) { self.queue_dead(offset) } else { self.free(offset) }
            }
        }
        self.members.remove(&who);
        self.released.remove(&who);
    }

    pub fn trim(&mut self, start: Offset) {
        self.start = start;
        for offset in self.floor..start {
            if let Place::Leased(hold) = self.place(offset) {
                self.orphans.push((offset, hold));
            }
            self.settle(offset);
        }
    }

    /// Forgets what this dispatcher knew and goes on from a cursor.
    pub fn begin_at(&mut self, cursor: &CursorState) {
        self.orphans.clear();
        self.floor = cursor.floor;
        self.scan_next = cursor.floor;
        for offset in 0..self.next() {
            let failures = cursor.failures.get(&offset);
            self.counts[offset as usize] = failures
                .map_or(Count::default(), |failures| Count { attempts: failures.attempts, returns: failures.returns });
            self.places[offset as usize] = if cursor.is_settled(offset) { Place::Settled } else { Place::Unseen };
        }
        self.trim(self.start);
        self.advance();
    }

    /// Whether an earlier event of the same key is unsettled.
    fn is_blocked(&self, offset: Offset) -> bool {
        let key = self.log[offset as usize].key;
        self.options.order == Order::Key
            && key.is_some()
            && (self.floor..offset)
                .any(|earlier| self.log[earlier as usize].key == key && self.place(earlier) != Place::Settled)
    }

    /// An event was handed out: was that allowed?
    pub fn lease(&mut self, now: Duration, who: SubscriberId, leased: Leased) {
        let member = self.members[&who];
        assert!(!member.paused, "{leased:?} went to a paused subscriber");
        let Place::Free { earliest, .. } = self.place(leased.offset) else {
            panic!("{leased:?} was handed out, but is {:?}", self.place(leased.offset));
        };
        assert!(!self.is_settled(leased.offset), "{leased:?} is settled");
        assert!(earliest <= self.last_tick, "{leased:?} before its backoff was over");
        assert!(!self.is_blocked(leased.offset), "{leased:?} before an earlier one of its key");
        assert_eq!(leased.attempt, 1 + self.counts[leased.offset as usize].attempts, "{leased:?}");
        assert_eq!(leased.deadline, now + member.ack_timeout, "{leased:?}");
        assert!(leased.lease > self.last_lease, "{leased:?}: a lease id was used again");
        self.last_lease = leased.lease;
        self.places[leased.offset as usize] =
            Place::Leased(Hold { subscriber: who, lease: leased.lease, deadline: leased.deadline });
    }

    /// Nothing more was handed out although there was room: was there nothing?
    pub fn nothing_left(&self, status: &DispatchStatus) {
        for offset in self.floor..self.scan_next {
            if let Place::Free { latest, .. } = self.place(offset) {
                let held_back = latest > self.last_tick || self.is_blocked(offset);
                let stopped = status.limit == Some(Limit::Waiting) && latest == Duration::ZERO;
                assert!(held_back || stopped, "offset {offset} could have been handed out: {status:?}");
            }
        }
    }

    /// Compares everything that both sides know.
    pub fn check(&self, status: &DispatchStatus, next_deadline: Option<Duration>) {
        assert_eq!(status.floor, self.floor, "the floor");
        assert_eq!(status.scan_next, self.scan_next, "the scan position");
        let (mut leased, mut free, mut dead, mut blocked, mut ranges) = (self.orphans.len(), 0, 0, 0, 0);
        let mut certainly_waiting = 0;
        let mut before = Place::Unseen;
        let mut first_deadline: Option<Duration> = self.orphans.iter().map(|(_, hold)| hold.deadline).min();
        let mut unsettled_keys = 0u64;
        for offset in self.floor..self.next() {
            let place = self.place(offset);
            let mut timed = None;
            match place {
                Place::Settled if before != Place::Settled => ranges += 1,
                Place::Leased(hold) => {
                    leased += 1;
                    timed = Some(hold.deadline);
                }
                Place::Free { earliest, latest } => {
                    free += 1;
                    certainly_waiting += usize::from(earliest > self.last_tick);
                    timed = (earliest > self.last_tick).then_some(latest);
                }
                Place::Dead { earliest, latest, .. } => {
                    dead += 1;
                    timed = (earliest > self.last_tick).then_some(latest);
                }
                Place::DeadTaken { .. } => dead += 1,
                Place::Settled | Place::Unseen => {}
            }
            first_deadline = [first_deadline, timed].into_iter().flatten().min();
            if let (Order::Key, Some(key)) = (self.options.order, self.log[offset as usize].key)
                && !matches!(place, Place::Settled | Place::Unseen)
            {
                blocked += usize::from(unsettled_keys & (1 << key) != 0);
                unsettled_keys |= 1 << key;
            }
            before = place;
        }
        assert_eq!(status.in_flight, leased, "leases");
        assert_eq!(status.blocked_events, blocked, "events behind their key");
        let scanned_and_free = status.ready + status.due + status.waiting;
        assert_eq!(scanned_and_free + status.blocked_events, free, "events to hand out");
        assert_eq!(status.dead_letters_pending, dead, "dead letters");
        assert!(status.waiting >= certainly_waiting, "waiting events: {status:?}");
        assert_eq!(status.ranges_above, ranges, "ranges above the floor");
        assert!(status.blocked_events <= self.options.limits.look_ahead, "looked too far ahead: {status:?}");
        assert!(status.ready <= self.options.limits.ready, "scanned too much: {status:?}");
        if let Some(first) = first_deadline {
            assert!(next_deadline.is_some_and(|next| next <= first), "{next_deadline:?} is after {first:?}");
        }
        assert_eq!(status.oldest.is_none(), self.floor >= self.next(), "{:?}", status.oldest);
    }
}
