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
    let wanted = |shape: &&Shape| args.only.is_empty() || args.only.contains(shape);
    Shape::value_variants().iter().filter(wanted).flat_map(|shape| cases(*shape, args)).collect()
}

fn cases(shape: Shape, args: &CompareArgs) -> Vec<Case> {
    let main = args.measure.full_or_quick(spans(500, 2_000), spans(200, 500));
    let row = args.measure.full_or_quick(spans(300, 1_200), spans(200, 400));
    let one = |id: &str, title: &str, load| Case {
        id: id.to_owned(),
        title: title.to_owned(),
        shape,
        load,
        spans: main,
        point: 0.0,
    };
    let (events, backlog) = args.measure.full_or_quick((1_000, 1_000_000), (200, 200_000));
    match shape {
        Shape::Publish => vec![one("publish", "publish, acknowledged", Load::Publish(Publishing::USUAL))],
        Shape::Consume => {
            let load = Load::Consume { payload_bytes: PAYLOAD_BYTES };
            vec![one("consume", "consume in a group, every event acked", load)]
        }
        Shape::Both => vec![one("both", "publish and consume at once", Load::Both)],
        Shape::Latency => vec![one("latency", "publish to handler, 1000 events/s", Load::Latency)],
        Shape::FanOut => {
            let load = Load::FanOut { readers: READERS, events };
            vec![one("fan-out", "deliveries, 1 publisher to 1000 readers", load)]
        }
        Shape::CatchUp => {
            vec![one("catch-up", "catch up from disk after a restart", Load::CatchUp { events: backlog })]
        }
        Shape::Payload => payloads(row),
        Shape::Publishers => [1, 4, 16, 64].map(|connections| publishers(connections, row)).to_vec(),
        Shape::Topics => [1, 100, 10_000].map(|count| topics(count, row)).to_vec(),
    }
}

fn spans(warm_up_ms: u64, measured_ms: u64) -> Spans {
    Spans { warm_up: Duration::from_millis(warm_up_ms), measured: Duration::from_millis(measured_ms) }
}

fn payloads(spans: Spans) -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, payload_bytes) in [("1k", 1_024), ("10k", 10_240)] {
        let case = |verb: &str, load| Case {
            id: format!("{verb}-{name}"),
            title: format!("{verb}, {} KB payloads", payload_bytes / 1_024),
            shape: Shape::Payload,
            load,
            spans,
            point: payload_bytes as f64,
        };
        cases.push(case("publish", Load::Publish(Publishing { payload_bytes, ..Publishing::USUAL })));
        cases.push(case("consume", Load::Consume { payload_bytes }));
    }
    cases
}

fn publishers(connections: usize, spans: Spans) -> Case {
    Case {
        id: format!("publishers-{connections}"),
        title: format!("publish by {connections} connections"),
        shape: Shape::Publishers,
        load: Load::Publish(Publishing { connections, in_flight: Some(SHARED_IN_FLIGHT), ..Publishing::USUAL }),
        spans,
        point: connections as f64,
    }
}

fn topics(count: usize, spans: Spans) -> Case {
    Case {
        id: format!("topics-{count}"),
        title: format!("publish to {count} topics"),
        shape: Shape::Topics,
        load: Load::Publish(Publishing { topics: Topics { count }, ..Publishing::USUAL }),
        spans,
        point: count as f64,
    }
}
