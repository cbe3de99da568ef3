//! Which hub drains which keys: buckets of keys, each under a lease, shared out evenly among the hubs that are there.
//!
//! Every hub decides by itself from what it reads; the database decides who gets a bucket that two want. A hub gives back
//! what is above its share only between two batches. Hubs may disagree for a moment on how many they are: then a bucket is
//! free for a while, and never has two holders.

use std::collections::BTreeSet;
use std::time::Duration;

use super::limits::BUCKETS;

/// Some of the buckets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BucketSet(u32);

/// What one lease is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimPart {
    Bucket(u8),
    /// A hub that says it is there.
    Hub,
}

/// One lease as the database has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedPart {
    pub part: ClaimPart,
    pub holder: Option<String>,
    /// Zero once it ran out.
    pub left: Duration,
}

impl BucketSet {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(u32::MAX);

    pub fn insert(&mut self, bucket: u8) {
        self.0 |= 1 << u32::from(bucket);
    }

    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..BUCKETS).filter(move |bucket| self.0 & 1 << u32::from(*bucket) != 0)
    }

    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl FromIterator<u8> for BucketSet {
    fn from_iter<I: IntoIterator<Item = u8>>(buckets: I) -> Self {
        let mut set = Self::NONE;
        buckets.into_iter().for_each(|bucket| set.insert(bucket));
        set
    }
}

impl ClaimPart {
    /// As the claims table names it. The hub's own row has the hub's name in it.
    pub fn of(id: &str) -> Option<Self> {
        match id.split_once('-') {
            Some(("bucket", number)) => number.parse().ok().filter(|bucket| *bucket < BUCKETS).map(Self::Bucket),
            Some(("hub", _)) => Some(Self::Hub),
            _ => None,
        }
    }
}

pub fn bucket_id(bucket: u8) -> String {
    format!("bucket-{bucket:02}")
}

pub fn hub_id(holder: &str) -> String {
    format!("hub-{holder}")
}

/// The buckets of this hub.
pub fn held_by(holder: &str, parts: &[ClaimedPart]) -> BucketSet {
    let ours = parts.iter().filter(|part| part.is_live() && part.holder.as_deref() == Some(holder));
    ours.filter_map(ClaimedPart::bucket).collect()
}

/// What to take and what to give back. `parts` say that this hub is there.
pub fn share(holder: &str, parts: &[ClaimedPart]) -> (BucketSet, BucketSet) {
    let hubs: BTreeSet<&str> = parts
        .iter()
        .filter(|part| part.is_live() && part.part == ClaimPart::Hub)
        .filter_map(|part| part.holder.as_deref())
        .chain([holder])
        .collect();
    let fair = usize::from(BUCKETS).div_ceil(hubs.len());
    let held = held_by(holder, parts);
    let free = parts.iter().filter(|part| !part.is_live()).filter_map(ClaimedPart::bucket);
    let take = free.take(fair.saturating_sub(held.len())).collect();
    let give = held.iter().skip(fair).collect();
    (take, give)
}

impl ClaimedPart {
    fn is_live(&self) -> bool {
        self.holder.is_some() && !self.left.is_zero()
    }

    fn bucket(&self) -> Option<u8> {
        match self.part {
            ClaimPart::Bucket(bucket) => Some(bucket),
            ClaimPart::Hub => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(30);

    fn bucket(number: u8, holder: Option<&str>, left: Duration) -> ClaimedPart {
        ClaimedPart { part: ClaimPart::Bucket(number), holder: holder.map(str::to_owned), left }
    }

    fn hub(holder: &str, left: Duration) -> ClaimedPart {
        ClaimedPart { part: ClaimPart::Hub, holder: Some(holder.to_owned()), left }
    }

    fn all(holder: Option<&str>, left: Duration) -> Vec<ClaimedPart> {
        (0..BUCKETS).map(|number| bucket(number, holder, left)).collect()
    }

    #[test]
    fn a_hub_alone_takes_every_bucket_that_is_free_or_whose_lease_ran_out() {
        assert_eq!(share("a", &all(None, Duration::ZERO)), (BucketSet::ALL, BucketSet::NONE));
        let mut parts = all(Some("b"), Duration::ZERO);
        parts.push(hub("b", Duration::ZERO));
        assert_eq!(share("a", &parts), (BucketSet::ALL, BucketSet::NONE));
        assert!(held_by("b", &parts).is_empty());
    }

    #[test]
    fn nothing_is_taken_from_a_live_hub_and_it_gives_half_to_one_that_comes() {
        let mut parts = all(Some("a"), LEASE);
        parts.extend([hub("a", LEASE), hub("b", LEASE)]);
        assert_eq!(share("b", &parts), (BucketSet::NONE, BucketSet::NONE));
        let (take, give) = share("a", &parts);
        assert_eq!((take.len(), give.len()), (0, 16));
    }

    #[test]
    fn hubs_that_follow_their_shares_end_with_all_buckets_held_once() {
        let names = ["a", "b", "c"];
        let mut parts = all(Some("a"), LEASE);
        parts.extend(names.map(|name| hub(name, LEASE)));
        for _ in 0..3 {
            for name in names {
                let (take, give) = share(name, &parts);
                for number in 0..BUCKETS {
                    let holder = &mut parts[usize::from(number)].holder;
                    if give.iter().any(|given| given == number) {
                        *holder = None;
                    } else if take.iter().any(|taken| taken == number) {
                        assert!(holder.is_none(), "{name} took {number} of another");
                        *holder = Some(name.to_owned());
                    }
                }
            }
        }
        let held = names.map(|name| held_by(name, &parts).len());
        assert_eq!(held, [11, 11, 10]);
    }

    #[test]
    fn parts_are_told_by_their_ids() {
        assert_eq!(ClaimPart::of(&bucket_id(7)), Some(ClaimPart::Bucket(7)));
        assert_eq!(ClaimPart::of(&hub_id("a-b")), Some(ClaimPart::Hub));
        assert_eq!((ClaimPart::of("bucket-32"), ClaimPart::of("else")), (None, None));
    }
}
