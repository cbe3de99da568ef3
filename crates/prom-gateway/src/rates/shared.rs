//! Buckets that connections share: one per topic, one per subject.
//!
//! Promise: memory is bounded. When too many buckets are kept, full ones are forgotten first: they
//! say nothing that a new one would not.

use std::time::Duration;

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::{Bucket, Rate, RetryAfter};

/// Beyond this many, full buckets are swept out.
const KEPT: usize = 10_000;

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
    topics: Shared,
    subjects: Shared,
}

struct Shared {
    rate: Option<Rate>,
    buckets: Mutex<HashMap<Box<str>, Bucket>>,
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
        let shared = |rate| Shared { rate, buckets: Mutex::default() };
        Self { topics: shared(options.per_topic), subjects: shared(options.per_subject), options }
    }

    pub fn options(&self) -> &RateOptions {
        &self.options
    }

    /// A bucket for one connection, if those are limited.
    pub fn connection(&self, now: Duration) -> Option<Bucket> {
        self.options.per_connection.map(|rate| Bucket::new(rate, now))
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
        let give_back = |taken: &[(&str, usize)]| {
            taken.iter().for_each(|(topic, count)| self.topics.give_back(topic, *count));
        };
        for (at, (topic, count)) in topics.iter().enumerate() {
            self.topics.take(topic, *count, now).inspect_err(|_| give_back(&topics[..at]))?;
        }
        let Some(subject) = subject else {
            return Ok(());
        };
        let all = topics.iter().map(|(_, count)| count).sum();
        self.subjects.take(subject, all, now).inspect_err(|_| give_back(topics))
    }
}

impl Shared {
    fn take(&self, name: &str, count: usize, now: Duration) -> Result<(), RetryAfter> {
        let Some(rate) = self.rate else {
            return Ok(());
        };
        let mut buckets = self.buckets.lock();
        if let Some(bucket) = buckets.get_mut(name) {
            return bucket.take(count, now);
        }
        if buckets.len() >= KEPT {
            buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        let mut bucket = Bucket::new(rate, now);
        let taken = bucket.take(count, now);
        buckets.insert(name.into(), bucket);
        taken
    }

    fn give_back(&self, name: &str, count: usize) {
        if let Some(bucket) = self.buckets.lock().get_mut(name) {
            bucket.give_back(count);
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
    fn what_nobody_uses_any_more_is_forgotten() {
        let rates = rates(1.0, 1.0);
        for at in 0..KEPT {
            rates.take(&format!("t{at}"), None, 1, NOW).unwrap();
        }
        rates.take("one.more", None, 1, NOW + Duration::from_secs(60)).unwrap();
        assert_eq!(rates.topics.buckets.lock().len(), 1);
    }
}
