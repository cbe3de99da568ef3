//! What can be typed after `prom bench`. Every shape has its own defaults, so that each is sensible without any flag.

use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Subcommand};
use prom_load::{LARGEST_PAYLOAD, SMALLEST_PAYLOAD};
use prom_types::{GroupName, limits};

use super::plan::{Amount, Frames, Plan, Remains, Shape};
use crate::command::names;
use crate::units::parse_duration;

/// Measure a hub: put load on it and time the answers
#[derive(Debug, Args)]
#[command(after_help = "\
Events go to separate topics, bench.<something>.*, which are deleted at the end, also after Ctrl-C; --keep leaves \
everything in place. Every consumed event is compared with what was published. Exit 1 if an event was lost or \
corrupted, 4 if one was refused.

Examples:
  prom bench publish
  prom bench consume --events 200000
  prom bench latency --rate 2000 --duration 30s
  prom bench both --json | jq .consumed.per_s")]
pub struct Bench {
    #[command(subcommand)]
    shape: Asked,
}

#[derive(Debug, Subcommand)]
enum Asked {
    /// Publish as fast as the hub answers
    #[command(after_help = "\
Ends after a million events unless --events or --duration says otherwise.

Examples:
  prom bench publish
  prom bench publish --connections 8 --size 1024 --duration 10s
  prom bench publish --plain                one event per frame
  prom bench publish --batch 100            atomic batches of a hundred")]
    Publish {
        #[command(flatten)]
        amount: AmountAsked,
        /// Connections that publish
        #[arg(long, value_name = "N", default_value_t = 2, value_parser = count(10_000))]
        connections: usize,
        /// Publishes under way on each connection
        #[arg(long, value_name = "N", default_value_t = 2000, value_parser = count(1_000_000))]
        in_flight: usize,
        /// Events in each publish; more than one are stored all or not at all
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = count(limits::BATCH_EVENTS))]
        batch: usize,
        #[command(flatten)]
        common: Common,
    },
    /// Consume a backlog in a group, with an ack for every event
    #[command(after_help = "\
First the backlog is published, a million events unless --events or --duration says otherwise; that is not measured.

Examples:
  prom bench consume
  prom bench consume --connections 4 --events 5000000
  prom bench consume --group load --keep    to look at the group afterwards")]
    Consume {
        #[command(flatten)]
        amount: AmountAsked,
        /// Connections that consume, all in one group
        #[arg(long, value_name = "N", default_value_t = 2, value_parser = count(10_000))]
        connections: usize,
        /// Events leased to each connection
        #[arg(long, value_name = "N", default_value_t = 4000, value_parser = count(1_000_000))]
        in_flight: usize,
        #[command(flatten)]
        members: Members,
        #[command(flatten)]
        common: Common,
    },
    /// Publish and consume at the same time, as fast as possible
    #[command(after_help = "\
Ends when everything that was published is consumed and acked; a million events unless --events or --duration says \
otherwise.

Examples:
  prom bench both
  prom bench both --connections 2 --size 1024 --duration 10s
  prom bench both --topics 100 --json")]
    Both {
        #[command(flatten)]
        amount: AmountAsked,
        /// Connections that publish; as many others consume
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = count(10_000))]
        connections: usize,
        /// Publishes under way, and events leased, on each connection
        #[arg(long, value_name = "N", default_value_t = 2000, value_parser = count(1_000_000))]
        in_flight: usize,
        #[command(flatten)]
        members: Members,
        #[command(flatten)]
        common: Common,
    },
    /// Publish at a steady pace and time each event to its receipt and to its handler
    #[command(after_help = "\
Events are sent when they are due, whether or not earlier ones were answered, and their time counts from then. Ten \
seconds unless --events or --duration says otherwise.

Examples:
  prom bench latency
  prom bench latency --rate 10000 --connections 4
  prom bench latency --duration 60s --json | jq .latency_us.handler.p99")]
    Latency {
        #[command(flatten)]
        amount: AmountAsked,
        /// Events per second, over all connections
        #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
        rate: u64,
        /// Connections that publish; as many others consume
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = count(64))]
        connections: usize,
        /// Publishes under way on each connection before it falls behind its pace
        #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = count(1_000_000))]
        in_flight: usize,
        /// The group; it must not exist yet [default: one of its own]
        #[arg(long, value_name = "GROUP", value_parser = names::group)]
        group: Option<GroupName>,
        #[command(flatten)]
        common: Common,
    },
    /// Publish on one connection and deliver every event to many subscribers
    #[command(after_help = "\
Every subscriber has its own connection and no group, and gets every event. Ends when every subscriber has every \
event; ten thousand events unless --events or --duration says otherwise.

Examples:
  prom bench fan-out
  prom bench fan-out --subscribers 1000 --events 1000
  prom bench fan-out --rate 100 --duration 10s")]
    FanOut {
        #[command(flatten)]
        amount: AmountAsked,
        /// Connections that get every event
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = count(20_000))]
        subscribers: usize,
        /// Events per second [default: as fast as the hub answers]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
        rate: Option<u64>,
        /// Publishes under way
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = count(1_000_000))]
        in_flight: usize,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Debug, Clone, Copy, Args)]
struct AmountAsked {
    /// How many events to publish
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "duration")]
    events: Option<u64>,
    /// How long to publish, such as 10s, instead of --events
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    duration: Option<Duration>,
}

#[derive(Debug, Args)]
struct Members {
    /// Events sent, and acked, together at most
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = count(10_000))]
    batch: usize,
    /// The group; it must not exist yet [default: one of its own]
    #[arg(long, value_name = "GROUP", value_parser = names::group)]
    group: Option<GroupName>,
}

#[derive(Debug, Args)]
struct Common {
    /// Bytes of each payload
    #[arg(long, value_name = "BYTES", default_value_t = 256, value_parser = between(SMALLEST_PAYLOAD, LARGEST_PAYLOAD))]
    size: usize,
    /// Topics that the events go to in turn
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count(100_000))]
    topics: usize,
    /// The same load before it is measured; 0s for none
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = parse_duration)]
    warm_up: Duration,
    /// One event and one ack per frame, as plain clients do
    #[arg(long)]
    plain: bool,
    /// Do not delete topics, events and group at the end
    #[arg(long)]
    keep: bool,
}

fn count(most: usize) -> RangedU64ValueParser<usize> {
    between(1, most)
}

fn between(least: usize, most: usize) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(least as u64..=most as u64)
}

impl AmountAsked {
    fn or(self, default: Amount) -> Amount {
        match (self.events, self.duration) {
            (Some(events), _) => Amount::Events(events),
            (None, Some(duration)) => Amount::Duration(duration),
            (None, None) => default,
        }
    }
}

impl Members {
    /// As many connections consume as publish.
    fn plan(self, connections: usize, in_flight: usize, rest: Plan) -> Plan {
        let Self { batch, group } = self;
        Plan { publishers: connections, subscribers: connections, in_flight, batch, group, ..rest }
    }
}

impl Common {
    /// The shape decides the rest.
    fn plan(self, shape: Shape, amount: Amount) -> Plan {
        Plan {
            shape,
            amount,
            warm_up: self.warm_up,
            size_bytes: self.size,
            topics: self.topics,
            publishers: 1,
            subscribers: 0,
            in_flight: 1,
            batch: 1,
            rate_per_s: None,
            group: None,
            frames: if self.plain { Frames::Plain } else { Frames::Batched },
            remains: if self.keep { Remains::All } else { Remains::Nothing },
        }
    }
}

impl Bench {
    pub(super) fn plan(self) -> Plan {
        const MILLION: Amount = Amount::Events(1_000_000);
        match self.shape {
            Asked::Publish { amount, connections, in_flight, batch, common } => {
                Plan { publishers: connections, in_flight, batch, ..common.plan(Shape::Publish, amount.or(MILLION)) }
            }
            Asked::Consume { amount, connections, in_flight, members, common } => {
                members.plan(connections, in_flight, common.plan(Shape::Consume, amount.or(MILLION)))
            }
            Asked::Both { amount, connections, in_flight, members, common } => {
                members.plan(connections, in_flight, common.plan(Shape::Both, amount.or(MILLION)))
            }
            Asked::Latency { amount, rate, connections, in_flight, group, common } => Plan {
                publishers: connections,
                subscribers: connections,
                in_flight,
                batch: 100,
                rate_per_s: Some(rate),
                group,
                ..common.plan(Shape::Latency, amount.or(Amount::Duration(Duration::from_secs(10))))
            },
            Asked::FanOut { amount, subscribers, rate, in_flight, common } => Plan {
                subscribers,
                in_flight,
                rate_per_s: rate,
                ..common.plan(Shape::FanOut, amount.or(Amount::Events(10_000)))
            },
        }
    }
}
