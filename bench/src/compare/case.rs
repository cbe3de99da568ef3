//! What is measured: shapes of load, each with the points at which it is measured.

use std::time::Duration;

use clap::ValueEnum;

use crate::args::CompareArgs;
use crate::load::contender::{About, Setting};
use crate::load::publish::{PAYLOAD_BYTES, Publishing};
use crate::load::rate::Spans;
use crate::load::topics::Topics;

/// Of all publishers together, when there are 1 to 64 of them.
const SHARED_IN_FLIGHT: usize = 4_096;
const READERS: usize = 1_000;

/// In the order in which they are measured and shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    Publish,
    Consume,
    Both,
    Latency,
    FanOut,
    CatchUp,
    Payload,
    Publishers,
    Topics,
}

#[derive(Debug, Clone)]
pub struct Case {
    /// `publish`, `publishers-16`.
    pub id: String,
    pub title: String,
    pub shape: Shape,
    pub load: Load,
    pub spans: Spans,
    /// Its position on the axis of its shape, if that has one.
    pub point: f64,
}

#[derive(Debug, Clone, Copy)]
pub enum Load {
    Publish(Publishing),
    Consume { payload_bytes: usize },
    Both,
    Latency,
    FanOut { readers: usize, events: u64 },
    CatchUp { events: u64 },
}

impl Shape {
    /// The whole comparison: every setting, all rounds. The others are rows of points, with the defaults.
    fn is_main(self) -> bool {
        matches!(self, Self::Publish | Self::Consume | Self::Both | Self::Latency)
    }

    /// Rows of points get by with fewer.
    pub fn rounds(self, rounds: usize) -> usize {
        if self.is_main() { rounds } else { rounds.div_ceil(2) }
    }
}

impl Case {
    /// Why a contender is not in this one.
    pub fn absent(&self, about: &About) -> Option<&'static str> {
        let (is_queue, is_stream) = match about.id {
            "rabbitmq-classic" | "rabbitmq-quorum" => (true, false),
            "rabbitmq-stream" => (false, true),
            _ => (false, false),
        };
        let reads_log = matches!(self.shape, Shape::FanOut | Shape::CatchUp);
        if about.setting == Setting::Durable && !self.shape.is_main() {
            return Some("measured with defaults only");
        }
        if is_queue && reads_log {
            return Some("a queue is not a log: its stream takes part");
        }
        if is_stream && !reads_log && self.shape != Shape::Publish {
            return Some("a stream's messages are not acked one by one");
        }
        if is_queue && self.shape == Shape::Topics && self.point > 1_000.0 {
            return Some("this many queues take minutes to make");
        }
        None
    }
}

/// All cases, or those of the shapes that were named.
pub fn list(args: &CompareArgs) -> Vec<Case> {
    let wanted = |case: &Case| args.only.is_empty() || args.only.contains(&case.shape);
    all(args).into_iter().filter(wanted).collect()
}

fn all(args: &CompareArgs) -> Vec<Case> {
    let (main, row) =
        args.measure.full_or_quick((spans(500, 2_000), spans(300, 1_200)), (spans(200, 500), spans(200, 400)));
    let one = |shape, id: &str, title: &str, load| Case {
        id: id.to_owned(),
        title: title.to_owned(),
        shape,
        load,
        spans: main,
        point: 0.0,
    };
    let consume = Load::Consume { payload_bytes: PAYLOAD_BYTES };
    let (events, backlog) = args.measure.full_or_quick((1_000, 1_000_000), (200, 200_000));
    let fan_out = Load::FanOut { readers: READERS, events };
    let mut cases = vec![
        one(Shape::Publish, "publish", "publish, acknowledged", Load::Publish(Publishing::USUAL)),
        one(Shape::Consume, "consume", "consume in a group, every event acked", consume),
        one(Shape::Both, "both", "publish and consume at once", Load::Both),
        one(Shape::Latency, "latency", "publish to handler, 1000 events/s", Load::Latency),
        one(Shape::FanOut, "fan-out", "deliveries, 1 publisher to 1000 readers", fan_out),
        one(Shape::CatchUp, "catch-up", "catch up from disk after a restart", Load::CatchUp { events: backlog }),
    ];
    let mut add = |shape, id: String, title: String, load, point: usize| {
        cases.push(Case { id, title, shape, load, spans: row, point: point as f64 });
    };
    for (name, bytes) in [("1k", 1_024), ("10k", 10_240)] {
        let publish = Load::Publish(Publishing { payload_bytes: bytes, ..Publishing::USUAL });
        for (verb, load) in [("publish", publish), ("consume", Load::Consume { payload_bytes: bytes })] {
            let title = format!("{verb}, {} KB payloads", bytes / 1_024);
            add(Shape::Payload, format!("{verb}-{name}"), title, load, bytes);
        }
    }
    for connections in [1, 4, 16, 64] {
        let load = Publishing { connections, in_flight: Some(SHARED_IN_FLIGHT), ..Publishing::USUAL };
        let (id, title) = (format!("publishers-{connections}"), format!("publish by {connections} connections"));
        add(Shape::Publishers, id, title, Load::Publish(load), connections);
    }
    for count in [1, 100, 10_000] {
        let load = Publishing { topics: Topics { count }, ..Publishing::USUAL };
        let (id, title) = (format!("topics-{count}"), format!("publish to {count} topics"));
        add(Shape::Topics, id, title, Load::Publish(load), count);
    }
    cases
}

fn spans(warm_up_ms: u64, measured_ms: u64) -> Spans {
    Spans { warm_up: Duration::from_millis(warm_up_ms), measured: Duration::from_millis(measured_ms) }
}
