//! What the members of a storm saw, and whether that is allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// One life of a member.
pub type Life = u64;
/// Partition of the group and offset in its log.
pub type EventAt = (u32, u64);

/// Everything that was seen, in the order in which it was written down.
#[derive(Default)]
pub struct StormHistory {
    pub published: BTreeMap<String, u64>,
    pub handled: Vec<Handled>,
    pub acks: Vec<AckSeen>,
    /// When a life was assigned a partition, and when it had to give it up or ended.
    pub tenures: Vec<Tenure>,
    /// The owners that the bus reported.
    pub owners: Vec<OwnerSeen>,
}

pub struct Handled {
    pub life: Life,
    pub place: EventAt,
    pub key: String,
    pub number: u64,
    pub published_at: Instant,
    pub at: Instant,
}

pub struct AckSeen {
    pub life: Life,
    pub place: EventAt,
    pub sent_at: Instant,
    pub answered_at: Instant,
    pub accepted: bool,
    pub timing: Timing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// Sent by a member. It may be refused if its partition moved at this moment; that is not written down.
    InTime,
    /// Sent by a client that knows that it is no longer a member.
    Late,
}

pub struct Tenure {
    pub life: Life,
    pub partition: u32,
    pub from: Instant,
    pub until: Option<Instant>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OwnerSeen {
    pub partition: u32,
    pub epoch: u64,
    pub member: String,
}

/// The outcome of a storm.
#[derive(Debug, Default)]
pub struct StormVerdict {
    pub published: u64,
    pub handled: usize,
    pub lives: usize,
    pub epochs: usize,
    pub late_acks_refused: usize,
    /// The longest wait of an event whose partition did not move.
    pub worst_wait: Duration,
}

impl StormHistory {
    /// Panics with what is broken.
    pub fn judge(&self) -> StormVerdict {
        self.each_key_in_order();
        self.nothing_is_lost();
        StormVerdict {
            published: self.published.values().sum(),
            handled: self.handled.len(),
            lives: self.tenures.iter().map(|tenure| tenure.life).collect::<BTreeSet<Life>>().len(),
            epochs: self.one_owner_for_each_epoch(),
            late_acks_refused: self.no_ack_after_the_end_counts(),
            worst_wait: self.worst_wait(),
        }
    }

    /// A partition has one owner in an epoch, and epochs rise.
    fn one_owner_for_each_epoch(&self) -> usize {
        let mut seen: BTreeMap<(u32, u64), &str> = BTreeMap::new();
        let mut last: BTreeMap<u32, u64> = BTreeMap::new();
        for OwnerSeen { partition, epoch, member } in &self.owners {
            let before = *seen.entry((*partition, *epoch)).or_insert(member);
            assert_eq!(before, member, "partition {partition} has two owners in epoch {epoch}");
            let before = last.insert(*partition, *epoch).unwrap_or_default();
            assert!(before <= *epoch, "the epoch of partition {partition} fell from {before} to {epoch}");
        }
        seen.len()
    }

    /// An event is settled by its owner: a late ack is fine only if another owner settled it before.
    fn no_ack_after_the_end_counts(&self) -> usize {
        let mut settled: BTreeMap<EventAt, Instant> = BTreeMap::new();
        for ack in self.acks.iter().filter(|ack| ack.accepted && ack.timing == Timing::InTime) {
            let first = settled.entry(ack.place).or_insert(ack.sent_at);
            *first = (*first).min(ack.sent_at);
        }
        for ack in self.acks.iter().filter(|ack| ack.accepted && ack.timing == Timing::Late) {
            let by_another = settled.get(&ack.place).is_some_and(|sent_at| *sent_at <= ack.answered_at);
            assert!(by_another, "life {} settled {:?} after it had lost it", ack.life, ack.place);
        }
        self.acks.iter().filter(|ack| ack.timing == Timing::Late && !ack.accepted).count()
    }

    /// Repeated events were handled before; the first deliveries are in order.
    fn each_key_in_order(&self) {
        let mut next: BTreeMap<&str, u64> = BTreeMap::new();
        for handled in &self.handled {
            let next = next.entry(&handled.key).or_default();
            assert!(
                handled.number <= *next,
                "{} {} came before {} in {:?}, to life {}",
                handled.key,
                handled.number,
                *next,
                handled.place,
                handled.life
            );
            *next = (*next).max(handled.number + 1);
        }
    }

    fn nothing_is_lost(&self) {
        let mut most: BTreeMap<&str, u64> = BTreeMap::new();
        for handled in &self.handled {
            let most = most.entry(&handled.key).or_default();
            *most = (*most).max(handled.number + 1);
        }
        for (key, published) in &self.published {
            assert_eq!(most.get(key.as_str()), Some(published), "events of {key} are lost");
        }
    }

    /// Of events that were published and handled within one tenure.
    fn worst_wait(&self) -> Duration {
        let mut tenures: BTreeMap<(Life, u32), Vec<&Tenure>> = BTreeMap::new();
        for tenure in &self.tenures {
            tenures.entry((tenure.life, tenure.partition)).or_default().push(tenure);
        }
        let unmoved = |handled: &&Handled| {
            let of_life = tenures.get(&(handled.life, handled.place.0)).map_or(&[][..], Vec::as_slice);
            of_life.iter().any(|tenure| {
                tenure.from <= handled.published_at && tenure.until.is_none_or(|until| handled.at <= until)
            })
        };
        let waits = self.handled.iter().filter(unmoved).map(|handled| handled.at - handled.published_at);
        waits.max().unwrap_or_default()
    }
}
