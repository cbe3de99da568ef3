//! What a run came to: for machines as one object whose fields stay, for people as text, and how the command ends.
//!
//! The fields are described in `docs/guide/benchmark.md`.

mod text;

use std::time::Duration;

use prom_load::figures::rate;
use prom_load::{Latencies, LoadFailure, Percentiles};
use serde::Serialize;

use super::clean::Left;
use super::facts::Facts;
use super::leg::{Consumption, Ending, Measured};
use super::live::RateSample;
use super::plan::{Plan, Shape};
use crate::exit::{CommandResult, Failure};

/// Points of the rates over time, at most.
const POINTS: usize = 120;

#[derive(Serialize)]
pub struct BenchReport {
    shape: Shape,
    #[serde(flatten)]
    facts: Facts,
    load: Plan,
    /// It was ended early: figures are those until then.
    interrupted: bool,
    published: PublishedReport,
    consumed: Option<ConsumedReport>,
    latency_us: LatencyReport,
    rate_over_time: Vec<Point>,
    errors: Vec<LoadFailure>,
    left: Left,
    #[serde(skip)]
    drawn: Drawn,
}

#[derive(Serialize)]
struct RateReport {
    events: u64,
    elapsed_ms: f64,
    per_s: f64,
    payload_bytes_per_s: f64,
}

#[derive(Serialize)]
struct PublishedReport {
    /// Of events with a receipt.
    #[serde(flatten)]
    rate: RateReport,
    /// Refused, or not answered.
    failed: u64,
    /// How durable receipts say events are, and how many of each.
    durability: std::collections::BTreeMap<&'static str, u64>,
}

#[derive(Serialize)]
struct ConsumedReport {
    /// Of events, each once; with fan-out, each once for every subscriber.
    #[serde(flatten)]
    rate: RateReport,
    /// With an ack that the hub has answered; a fan-out has no acks.
    acked: u64,
    redelivered: u64,
    harmed: u64,
    lost: Option<u64>,
}

#[derive(Serialize)]
struct LatencyReport {
    /// From when an event was due until its receipt.
    receipt: Option<Percentiles>,
    /// From when an event was due until it was with its handler.
    handler: Option<Percentiles>,
    /// From when an event was due until it was handed to the client.
    late: Option<Percentiles>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Point {
    at_ms: f64,
    published: u64,
    consumed: u64,
}

/// What only the plots need.
struct Drawn {
    receipts: Latencies,
    handlers: Latencies,
    samples: Vec<RateSample>,
    ending: Ending,
}

impl BenchReport {
    pub fn new(plan: &Plan, facts: Facts, measured: Measured, left: Left) -> Self {
        let Measured { published, failed, publishing, consumed, samples, failures, ending } = measured;
        // A backlog is as old as it is; its receipts belong to the filling.
        let handlers = match (&consumed, plan.shape) {
            (Some(consumed), Shape::Both | Shape::Latency | Shape::FanOut) => consumed.total.latencies.clone(),
            _ => Latencies::default(),
        };
        let receipts = if plan.shape == Shape::Consume { Latencies::default() } else { published.receipts };
        Self {
            shape: plan.shape,
            facts,
            load: plan.clone(),
            interrupted: ending == Ending::Interrupted,
            published: PublishedReport {
                rate: RateReport::of(plan, published.stored, publishing),
                failed,
                durability: published.durability,
            },
            consumed: consumed.map(|consumed| ConsumedReport::of(plan, &consumed)),
            latency_us: LatencyReport {
                receipt: receipts.percentiles(),
                handler: handlers.percentiles(),
                late: published.late.percentiles(),
            },
            rate_over_time: points(&samples),
            errors: failures,
            left,
            drawn: Drawn { receipts, handlers, samples, ending },
        }
    }

    /// Lost and harmed events are the answer no; refused ones are refused.
    pub fn outcome(&self) -> CommandResult {
        let (lost, harmed) =
            self.consumed.as_ref().map_or((0, 0), |consumed| (consumed.lost.unwrap_or_default(), consumed.harmed));
        if lost + harmed > 0 {
            return Err(Failure::no(format!("{lost} events were lost and {harmed} came harmed"))
                .fix("this should never happen; keep the hub's data and run it again with --keep"));
        }
        if self.drawn.ending == Ending::Stalled {
            return Err(Failure::no("not every event came"));
        }
        // After Ctrl-C some are not answered, and that is no failure.
        let failure = self.errors.iter().find(|failure| !(self.interrupted && failure.code == "unanswered"));
        match failure {
            None => Ok(()),
            Some(LoadFailure { code, count, message }) => {
                let what = format!("{count} events failed ({code}): {message}");
                Err(match code.as_str() {
                    "no_answer" | "disconnected" | "unanswered" => Failure::unreachable(what),
                    "lease_lost" => Failure::no(what),
                    _ => Failure::refused(what),
                })
            }
        }
    }
}

impl RateReport {
    fn of(plan: &Plan, events: u64, elapsed: Duration) -> Self {
        Self {
            events,
            elapsed_ms: millis(elapsed),
            per_s: round(rate(events, elapsed)),
            payload_bytes_per_s: round(rate(events * plan.size_bytes as u64, elapsed)),
        }
    }
}

impl ConsumedReport {
    fn of(plan: &Plan, consumed: &Consumption) -> Self {
        let Consumption { total, elapsed, lost } = consumed;
        Self {
            rate: RateReport::of(plan, total.fresh, *elapsed),
            acked: total.acked,
            redelivered: total.repeated,
            harmed: total.harmed,
            lost: *lost,
        }
    }
}

fn millis(time: Duration) -> f64 {
    round(time.as_secs_f64() * 1e3)
}

/// To tenths.
fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Evenly chosen, the last one always.
fn points(samples: &[RateSample]) -> Vec<Point> {
    let every = samples.len().div_ceil(POINTS).max(1);
    let chosen = samples.iter().rev().step_by(every);
    let mut points: Vec<Point> = chosen
        .map(|sample| Point { at_ms: millis(sample.at), published: sample.published, consumed: sample.consumed })
        .collect();
    points.reverse();
    points
}

#[cfg(test)]
mod tests {
    use super::super::clean::Events;
    use super::super::facts::{ClientFacts, HubFacts};
    use super::super::plan::{Amount, Frames, Remains};
    use prom_load::{Consumed, Published};

    use super::*;

    fn plan() -> Plan {
        Plan {
            shape: Shape::Both,
            amount: Amount::Events(10),
            warm_up: Duration::ZERO,
            size_bytes: 256,
            topics: 1,
            publishers: 1,
            subscribers: 1,
            in_flight: 1,
            batch: 1,
            rate_per_s: None,
            group: None,
            frames: Frames::Batched,
            remains: Remains::Nothing,
        }
    }

    /// Ten events, all of them where they should be.
    fn measured() -> Measured {
        let published = Published { stored: 10, ..Published::default() };
        let total = Consumed { fresh: 10, acked: 10, ..Consumed::default() };
        Measured {
            published,
            failed: 0,
            publishing: Duration::from_secs(2),
            consumed: Some(Consumption { total, elapsed: Duration::from_secs(5), lost: Some(0) }),
            samples: Vec::new(),
            failures: Vec::new(),
            ending: Ending::Complete,
        }
    }

    fn report(measured: Measured) -> BenchReport {
        let hub = HubFacts { url: "http://127.0.0.1:1".to_owned(), version: None, store: None };
        let facts = Facts { hub, client: ClientFacts { version: "0", processors: 2 } };
        let left = Left { topics: "bench.a.**".to_owned(), events: Events::Deleted, problem: None };
        BenchReport::new(&plan(), facts, measured, left)
    }

    fn failures(code: &str) -> Vec<LoadFailure> {
        vec![LoadFailure { code: code.to_owned(), count: 3, message: "no".to_owned() }]
    }

    fn code(measured: Measured) -> String {
        format!("{:?}", crate::exit::exit_code(&report(measured).outcome()))
    }

    #[test]
    fn rates_are_events_by_the_time_they_took() {
        let report = report(measured());
        assert_eq!((report.published.rate.per_s, report.consumed.as_ref().unwrap().rate.per_s), (5.0, 2.0));
        assert_eq!(report.published.rate.payload_bytes_per_s, 5.0 * 256.0);
        assert!(report.text().contains("10 events in 2 s: 5/s"), "{}", report.text());
    }

    #[test]
    fn what_is_lost_harmed_refused_or_unanswered_decides_how_it_ends() {
        let exit = |number: u8| format!("{:?}", std::process::ExitCode::from(number));
        assert_eq!(code(measured()), exit(0));
        for (lost, harmed) in [(1, 0), (0, 1)] {
            let mut bad = measured();
            let consumed = bad.consumed.as_mut().unwrap();
            (consumed.lost, consumed.total.harmed) = (Some(lost), harmed);
            assert_eq!(code(bad), exit(1), "{lost} {harmed}");
        }
        assert_eq!(code(Measured { ending: Ending::Stalled, ..measured() }), exit(1));
        for (kind, number) in [("forbidden", 4), ("rate_limited", 4), ("no_answer", 3), ("lease_lost", 1)] {
            assert_eq!(code(Measured { failures: failures(kind), ..measured() }), exit(number), "{kind}");
        }
        let interrupted = || Measured { ending: Ending::Interrupted, ..measured() };
        assert_eq!(code(interrupted()), exit(0));
        assert_eq!(code(Measured { failures: failures("unanswered"), ..interrupted() }), exit(0));
        assert_eq!(code(Measured { failures: failures("forbidden"), ..interrupted() }), exit(4));
    }

    #[test]
    fn points_are_few_in_order_and_end_with_the_end() {
        let samples: Vec<RateSample> =
            (0..1001).map(|at| RateSample { at: Duration::from_millis(at), published: at, consumed: 0 }).collect();
        let points = points(&samples);
        assert!(points.len() <= POINTS && points.is_sorted_by(|a, b| a.at_ms < b.at_ms));
        assert_eq!(points.last().unwrap().published, 1000);
    }
}
