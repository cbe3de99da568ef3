//! `prom-bench mongo`: the bus on a one-member replica set, `w: majority, j: true`, 256-byte payloads.
//!
//! Beside it, in the same rounds on the same server: what a program would do with the driver alone, one document
//! per event with the indexes that needs.

mod consume;
mod hubs;
mod latency;
mod mongo_bus;
mod raw;

use prom_load::figures::count;
use prom_testkit::mongo::ReplicaSet;

use crate::args::MongoArgs;
use crate::bus_load::Publishers;
use crate::figure::{self, Figure, Goal};
use crate::interrupt;
use crate::machine;
use crate::summary::Summary;
use mongo_bus::MongoBus;

const TITLE: &str =
    "The bus on MongoDB (one member, w: majority, j: true), 256-byte payloads, medians of interleaved rounds";

const PUBLISHERS: Publishers = Publishers { count: 2, in_flight: 10_000 };

/// Every round's value of each figure.
#[derive(Default)]
struct Rounds {
    raw_publish: Vec<f64>,
    one_partition: Vec<f64>,
    four_partitions: Vec<f64>,
    raw_read: Vec<f64>,
    consume: Vec<f64>,
    one_hub: Vec<f64>,
    two_hubs: Vec<f64>,
    raw_insert_ms: Vec<f64>,
    publish_ms: Vec<f64>,
}

pub fn run(args: &MongoArgs) -> anyhow::Result<()> {
    let about = machine::describe();
    eprintln!("measuring: {about}");
    let figures = interrupt::block_on(measure(args))?;
    figure::print(&args.measure, &about, TITLE, &figures);
    Ok(())
}

async fn measure(args: &MongoArgs) -> anyhow::Result<Vec<Figure>> {
    let set = ReplicaSet::start(1).await?;
    let mut rounds = Rounds::default();
    for round in 0..args.rounds {
        eprintln!("  round {} of {}", round + 1, args.rounds);
        one_round(args, &set, &mut rounds, round).await?;
    }
    Ok(rounds.figures())
}

/// Each measurement has a database of its own, which goes at its end: no figure pays for another's data.
async fn one_round(args: &MongoArgs, set: &ReplicaSet, rounds: &mut Rounds, round: usize) -> anyhow::Result<()> {
    let url = |name: &str| set.url(&format!("{name}_{round}"));
    let (rate, read) = raw::publish_and_read(&url("raw"), args.measure.span()).await?;
    rounds.raw_publish.push(rate);
    rounds.raw_read.push(read);
    for (partitions, into) in [(1, &mut rounds.one_partition), (4, &mut rounds.four_partitions)] {
        let ours = MongoBus::open(&url(&format!("publish_{partitions}")), partitions).await?;
        into.push(PUBLISHERS.rate(&ours.bus, args.measure.span()).await?);
        if partitions == 1 {
            // Another bus, which has nothing of it in memory.
            let reader = MongoBus::open(&url("publish_1"), 1).await?;
            rounds.consume.push(consume::rate(&reader).await?);
            reader.bus.shutdown().await?;
        }
        ours.end().await?;
    }
    rounds.one_hub.push(hubs::rate(&url("hubs_1"), 1, args.measure.span()).await?);
    rounds.two_hubs.push(hubs::rate(&url("hubs_2"), 2, args.measure.span()).await?);
    let (publish_ms, raw_ms) = latency::beside_raw(&url("latency"), args.measure.samples() / 4).await?;
    rounds.publish_ms.push(publish_ms);
    rounds.raw_insert_ms.push(raw_ms);
    Ok(())
}

impl Rounds {
    fn figures(&self) -> Vec<Figure> {
        let rate = |name: &str, ours: &[f64], times: f64, (raw, what): (&[f64], &'static str)| {
            Figure::new(named(name, ours), Summary::median_of(ours), "events/s", Goal::OfBareAtLeast(times))
                .beside(Summary::median_of(raw), what)
        };
        let insert_many = (&*self.raw_publish, "insertMany by 1000");
        vec![
            rate("publish, four partitions", &self.four_partitions, 5.0, insert_many),
            rate("publish, one partition", &self.one_partition, 2.5, insert_many),
            rate("consume, every event acked", &self.consume, 2.0, (&self.raw_read, "find, 1000 a batch")),
            rate("two hubs, a partition each", &self.two_hubs, 1.0, (&self.one_hub, "one hub, one partition")),
            Figure::new("single publisher, p50", Summary::median_of(&self.publish_ms), "ms", Goal::OfBareAtMost(1.5))
                .beside(Summary::median_of(&self.raw_insert_ms), "insertOne"),
        ]
    }
}

/// With how far the rounds lay apart.
fn named(name: &str, values: &[f64]) -> String {
    let spread = Summary::of(values).map(|summary| format!(" ({}–{}/s)", count(summary.least), count(summary.most)));
    format!("{name}{}", spread.unwrap_or_default())
}
