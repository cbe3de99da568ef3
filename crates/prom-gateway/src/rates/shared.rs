//! Buckets that connections share: one per topic, one per subject.
//!
//! Promise: memory is bounded, and so is the work for a new name. When there are too many buckets, the
//! full ones are forgotten: they say nothing that a new one would not. Where none is full, names that
//! have no bucket share one until there is room again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::{Bucket, Rate, RetryAfter};

/// At most this many names have a bucket of their own: a few MiB with long names.
const KEPT: usize = 10_000;
/// Looking for full buckets goes through all of them; a client that makes up names cannot cause it more often.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Which rates hold; `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RateOptions {
    pub per_connection: Option<Rate>,
    pub per_topic: Option<Rate>,
    pub per_subject: Option<Rate>,
}

/// The shared buckets.
pub struct Rates {
    options: RateOptions,
    /// `None` where there is no limit. Locked before those of the subjects.
    topics: Option<Mutex<Shared>>,
    subjects: Option<Mutex<Shared>>,
    /// Refusals by any bucket, also those of connections.
    refused: AtomicU64,
}

struct Shared {
    rate: Rate,
    buckets: HashMap<Box<str>, Bucket>,
    /// Of all names that found no room.
    overflow: Option<Bucket>,
    /// On the monotonic clock.
    swept_at: Option<Duration>,
}

impl RateOptions {
    /// What holds unless configured: nothing on loopback, 200 a second elsewhere.
    pub fn default_on(loopback: Loopback) -> Self {
        let per_connection = match loopback {
            Loopback::Yes => None,
            Loopback::No => Some(Rate::per_second(200.0, 200.0)),
        };
        Self { per_connection, ..Self::default() }
    }
}

/// Whether a hub listens where only its own machine reaches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loopback {
    Yes,
    No,
}

impl Rates {
    pub fn new(options: RateOptions) -> Self {
        let shared = |rate| Mutex::new(Shared::new(rate));
        Self {
            topics: options.per_topic.map(shared),
            subjects: options.per_subject.map(shared),
            options,
            refused: AtomicU64::new(0),
        }
    }

    pub fn options(&self) -> &RateOptions {
        &self.options
    }

    /// A bucket for one connection, if those are limited.
    pub fn connection(&self, now: Duration) -> Option<Bucket> {
        self.options.per_connection.map(|rate| Bucket::new(rate, now))
    }

    /// A publish was refused for its rate.
    pub fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// How often that happened since the hub began.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Neither topics nor subjects have a limit.
    pub fn is_unlimited(&self) -> bool {
        self.options.per_topic.is_none() && self.options.per_subject.is_none()
    }

    /// Takes for `count` events of a topic by a subject: from both buckets or from neither.
    pub fn take(&self, topic: &str, subject: Option<&str>, count: usize, now: Duration) -> Result<(), RetryAfter> {
        self.take_all(&[(topic, count)], subject, now)
    }

    /// As [`Rates::take`] for several topics: from all of their buckets and the subject's, or from none.
    pub fn take_all(&self, topics: &[(&str, usize)], subject: Option<&str>, now: Duration) -> Result<(), RetryAfter> {
        // Held to the end: what is given back goes where it came from.
        let mut of_topics = self.topics.as_ref().map(Mutex::lock);
        if let Some(shared) = &mut of_topics {
            shared.take_all(topics, now)?;
        }
        let (Some(subject), Some(of_subjects)) = (subject, &self.subjects) else {
            return Ok(());
        };
        let all = topics.iter().map(|(_, count)| count).sum();
        let taken = of_subjects.lock().take(subject, all, now);
        if let (Err(_), Some(shared)) = (&taken, &mut of_topics) {
            shared.give_back(topics);
        }
        taken
    }
}

impl Shared {
    fn new(rate: Rate) -> Self {
        Self { rate, buckets: HashMap::new(), overflow: None, swept_at: None }
    }

    fn take_all(&mut self, names: &[(&str, usize)], now: Duration) -> Result<(), RetryAfter> {
        for (at, (name, count)) in names.iter().enumerate() {
            if let Err(refused) = self.take(name, *count, now) {
                self.give_back(&names[..at]);
                return Err(refused);
            }
        }
        Ok(())
    }

    fn take(&mut self, name: &str, count: usize, now: Duration) -> Result<(), RetryAfter> {
        if let Some(bucket) = self.buckets.get_mut(name) {
            return bucket.take(count, now);
        }
        let mut fresh = Bucket::new(self.rate, now);
        if !self.has_room(now) {
            return self.overflow.get_or_insert(fresh).take(count, now);
        }
        let taken = fresh.take(count, now);
        self.buckets.insert(name.into(), fresh);
        taken
    }

    fn has_room(&mut self, now: Duration) -> bool {
        let may_sweep = self.swept_at.is_none_or(|swept_at| now.saturating_sub(swept_at) >= SWEEP_INTERVAL);
        if self.buckets.len() >= KEPT && may_sweep {
            self.swept_at = Some(now);
            self.buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        self.buckets.len() < KEPT
    }

    /// Of what was taken under the same lock.
    fn give_back(&mut self, names: &[(&str, usize)]) {
        for (name, count) in names {
            if let Some(bucket) = self.buckets.get_mut(*name).or(self.overflow.as_mut()) {
                bucket.give_back(*count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(9);

    fn rates(per_topic: f64, per_subject: f64) -> Rates {
        let rate = |burst| Some(Rate::per_second(1.0, burst));
        Rates::new(RateOptions { per_topic: rate(per_topic), per_subject: rate(per_subject), per_connection: None })
    }

    #[test]
    fn topics_and_subjects_are_limited_apart() {
        let rates = rates(2.0, 3.0);
        assert!(rates.take("a", Some("s"), 2, NOW).is_ok());
        assert!(rates.take("a", Some("t"), 1, NOW).is_err(), "the topic is used up");
        assert!(rates.take("b", Some("s"), 1, NOW).is_ok());
        assert!(rates.take("c", Some("s"), 1, NOW).is_err(), "the subject is used up");
        assert!(rates.take("c", None, 2, NOW).is_ok(), "what was refused took nothing from the topic");
    }

    #[test]
    fn several_topics_are_taken_for_all_or_for_none() {
        let rates = rates(2.0, 5.0);
        assert!(rates.take("b", None, 1, NOW).is_ok());
        assert!(rates.take_all(&[("a", 2), ("b", 2)], Some("s"), NOW).is_err(), "b has one left");
        assert!(rates.take_all(&[("a", 2), ("b", 1)], Some("s"), NOW).is_ok());
        assert!(rates.take_all(&[("c", 2), ("d", 2)], Some("s"), NOW).is_err(), "the subject has two left");
        assert!(rates.take_all(&[("c", 2)], Some("s"), NOW).is_ok());
    }

    #[test]
    fn unused_buckets_are_forgotten() {
        let rates = rates(1.0, 1.0);
        for at in 0..KEPT {
            rates.take(&format!("t{at}"), None, 1, NOW).unwrap();
        }
        rates.take("one.more", None, 1, NOW + Duration::from_secs(60)).unwrap();
        assert_eq!(own_buckets(&rates), 1);
    }

    fn own_buckets(rates: &Rates) -> usize {
        rates.topics.as_ref().unwrap().lock().buckets.len()
    }

    /// Every place is taken by a name that has just published.
    fn crowded() -> Rates {
        let rates = rates(2.0, 1.0);
        for at in 0..KEPT {
            rates.take(&format!("t{at}"), None, 1, NOW).unwrap();
        }
        rates
    }

    #[test]
    fn names_that_find_no_room_share_one_bucket_and_the_others_keep_theirs() {
        let rates = crowded();
        assert!(rates.take("new.1", None, 1, NOW).is_ok());
        assert!(rates.take("new.2", None, 1, NOW).is_ok());
        assert_eq!(rates.take("new.3", None, 1, NOW).unwrap_err().millis(), 1000, "two of them have used it up");
        assert!(rates.take("t7", None, 1, NOW).is_ok());
        assert_eq!(own_buckets(&rates), KEPT);
    }

    #[test]
    fn what_is_refused_elsewhere_goes_back_to_the_shared_bucket_too() {
        let rates = crowded();
        assert!(rates.take("elsewhere", Some("s"), 1, NOW).is_ok(), "the subject is used up now");
        assert!(rates.take("new.1", Some("s"), 1, NOW).is_err());
        assert!(rates.take("new.1", None, 1, NOW).is_ok());
        assert!(rates.take("new.2", None, 1, NOW).is_err());
    }

    #[test]
    fn room_is_looked_for_once_a_second_and_found_when_buckets_are_full() {
        let rate = Some(Rate::per_second(10.0, 1.0));
        let rates = Rates::new(RateOptions { per_topic: rate, ..RateOptions::default() });
        for at in 0..KEPT {
            rates.take(&format!("t{at}"), None, 1, NOW).unwrap();
        }
        assert!(rates.take("new", None, 1, NOW).is_ok(), "this one looked");
        assert!(rates.take("new", None, 1, NOW + Duration::from_millis(999)).is_ok());
        assert_eq!(own_buckets(&rates), KEPT, "all of them are full, and none was swept");
        assert!(rates.take("new", None, 1, NOW + Duration::from_secs(1)).is_ok());
        assert_eq!(own_buckets(&rates), 1);
    }
}
