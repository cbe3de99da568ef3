//! What is going to be measured: everything that was asked for, with its defaults.

use std::time::Duration;

use prom_load::pace::Schedule;
use prom_types::GroupName;
use serde::{Serialize, Serializer};

/// In a report it says what was asked for.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    #[serde(skip)]
    pub shape: Shape,
    #[serde(skip)]
    pub amount: Amount,
    #[serde(rename = "warm_up_ms", serialize_with = "as_millis")]
    pub warm_up: Duration,
    pub size_bytes: usize,
    pub topics: usize,
    /// Connections that publish.
    pub publishers: usize,
    /// Connections that consume or look.
    pub subscribers: usize,
    /// Publishes under way, and events leased, on each connection.
    pub in_flight: usize,
    /// Publishing: events of one publish. Consuming: events sent and acked together at most.
    pub batch: usize,
    pub rate_per_s: Option<u64>,
    #[serde(skip)]
    pub group: Option<GroupName>,
    pub frames: Frames,
    #[serde(skip)]
    pub remains: Remains,
}

fn as_millis<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(duration.as_millis() as u64)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    Publish,
    Consume,
    Both,
    Latency,
    FanOut,
}

/// When publishing ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    Events(u64),
    Duration(Duration),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Frames {
    Batched,
    Plain,
}

/// What is left when the run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remains {
    Nothing,
    All,
}

/// Who gets the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    NoReaders,
    /// One group shares them, after all were published.
    Backlog,
    /// One group shares them as they come.
    Group,
    /// Every subscriber gets all of them.
    Everyone,
}

impl Shape {
    pub fn reading(self) -> Reading {
        match self {
            Self::Publish => Reading::NoReaders,
            Self::Consume => Reading::Backlog,
            Self::Both | Self::Latency => Reading::Group,
            Self::FanOut => Reading::Everyone,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Consume => "consume",
            Self::Both => "both",
            Self::Latency => "latency",
            Self::FanOut => "fan-out",
        }
    }

    /// For those who watch.
    pub fn doing(self) -> &'static str {
        match self {
            Self::Publish => "publishing",
            Self::Consume => "consuming",
            Self::Both => "publishing and consuming",
            Self::Latency => "publishing at a steady pace",
            Self::FanOut => "fanning out",
        }
    }
}

impl Plan {
    /// The same load for as long as was asked for before measuring, over fewer topics.
    pub fn warm_up(&self) -> Option<Self> {
        let topics = self.topics.min(WARM_TOPICS);
        (!self.warm_up.is_zero()).then(|| Self { amount: Amount::Duration(self.warm_up), topics, ..self.clone() })
    }

    /// Events in one publish.
    pub fn publish_batch(&self) -> usize {
        match self.shape {
            Shape::Publish => self.batch,
            _ => 1,
        }
    }

    /// How many events to publish at most. Without a pace the number is open, and the time ends it.
    pub fn quota(&self) -> u64 {
        match (self.amount, self.rate_per_s) {
            (Amount::Events(events), _) => events,
            (Amount::Duration(duration), Some(rate)) => Schedule::events_in(rate, duration),
            (Amount::Duration(_), None) => u64::MAX,
        }
    }
}

/// Enough to touch everything a topic needs.
pub const WARM_TOPICS: usize = 16;

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    pub fn plan(arguments: &[&str]) -> Plan {
        let cli = Cli::try_parse_from([&["prom", "bench"], arguments].concat()).unwrap();
        match cli.command {
            Command::Bench(bench) => bench.plan(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_pace_makes_a_duration_a_number_of_events() {
        assert_eq!(plan(&["publish", "--events", "10"]).quota(), 10);
        assert_eq!(plan(&["publish", "--duration", "10s"]).quota(), u64::MAX);
        assert_eq!(plan(&["latency", "--duration", "3s", "--rate", "500"]).quota(), 1_500);
    }

    #[test]
    fn every_shape_has_defaults_of_its_own() {
        let amounts = ["publish", "consume", "both", "latency", "fan-out"].map(|shape| plan(&[shape]).amount);
        let million = Amount::Events(1_000_000);
        let ten_seconds = Amount::Duration(Duration::from_secs(10));
        assert_eq!(amounts, [million, million, million, ten_seconds, Amount::Events(10_000)]);
        assert_eq!(plan(&["latency"]).rate_per_s, Some(1000));
        assert_eq!(plan(&["fan-out", "--subscribers", "7"]).subscribers, 7);
    }

    #[test]
    fn the_warm_up_is_the_same_load_for_a_while_or_nothing() {
        let warm_up = plan(&["publish", "--warm-up", "3s", "--topics", "1000"]).warm_up().unwrap();
        assert_eq!((warm_up.amount, warm_up.topics), (Amount::Duration(Duration::from_secs(3)), WARM_TOPICS));
        assert!(plan(&["publish", "--warm-up", "0s"]).warm_up().is_none());
    }
}
