//! `prom-bench mongo`: the bus on a one-member replica set, `w: majority, j: true`, 256-byte payloads.
//!
//! Beside it, in the same rounds on the same server: what a program would do with the driver alone, one document
//! per event with the indexes that needs.

mod consume;
mod hubs;
mod latency;
mod publish;
mod raw;
mod scene;

use prom_testkit::mongo::ReplicaSet;

use crate::args::{Args, Output};
use crate::figure::{self, Figure, Goal};
use crate::machine;
use crate::summary::Summary;
use scene::Scene;

const TITLE: &str =
    "The bus on MongoDB (one member, w: majority, j: true), 256-byte payloads, medians of interleaved rounds";

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

pub fn run(args: &Args) -> anyhow::Result<()> {
    let about = machine::describe();
    eprintln!("measuring: {about}");
    let runtime = tokio::runtime::Runtime::new()?;
    let figures = runtime.block_on(measure(args))?;
    match args.output {
        Output::Table => println!("{about}\n\n{}", figure::table(TITLE, &figures)),
        Output::Json => println!("{}", figure::json(&about, &figures)),
    }
    Ok(())
}

async fn measure(args: &Args) -> anyhow::Result<Vec<Figure>> {
    let set = ReplicaSet::start(1).await?;
    let mut rounds = Rounds::default();
    for round in 0..args.rounds {
        eprintln!("  round {} of {}", round + 1, args.rounds);
        one_round(args, &set, &mut rounds, round).await?;
    }
    Ok(rounds.figures())
}

/// Each measurement has a database of its own, which goes at its end: no figure pays for another's data.
async fn one_round(args: &Args, set: &ReplicaSet, rounds: &mut Rounds, round: usize) -> anyhow::Result<()> {
    let url = |name: &str| set.url(&format!("{name}_{round}"));
    let (rate, read) = raw::publish_and_read(&url("raw"), args.span()).await?;
    rounds.raw_publish.push(rate);
    rounds.raw_read.push(read);
    for (partitions, into) in [(1, &mut rounds.one_partition), (4, &mut rounds.four_partitions)] {
        let scene = Scene::open(&url(&format!("publish_{partitions}")), partitions).await?;
        into.push(publish::rate(&scene.bus, args.span()).await?);
        if partitions == 1 {
            // Another bus, which has nothing of it in memory.
            let reader = Scene::open(&url("publish_1"), 1).await?;
            rounds.consume.push(consume::rate(&reader).await?);
            reader.bus.shutdown().await?;
        }
        scene.end().await?;
    }
    rounds.one_hub.push(hubs::rate(&url("hubs_1"), 1, args.span()).await?);
    rounds.two_hubs.push(hubs::rate(&url("hubs_2"), 2, args.span()).await?);
    let (publish_ms, raw_ms) = latency::beside_raw(&url("latency"), args.samples() / 4).await?;
    rounds.publish_ms.push(publish_ms);
    rounds.raw_insert_ms.push(raw_ms);
    Ok(())
}

impl Rounds {
    fn figures(&self) -> Vec<Figure> {
        let rate = |name: &str, ours: &[f64], goal, raw: &[f64], what| {
            Figure::new(named(name, ours), median(ours), "events/s", goal).beside(median(raw), what)
        };
        let insert_many = "insertMany by 1000";
        vec![
            rate(
                "publish, four partitions",
                &self.four_partitions,
                Goal::OfBareAtLeast(5.0),
                &self.raw_publish,
                insert_many,
            ),
            rate(
                "publish, one partition",
                &self.one_partition,
                Goal::OfBareAtLeast(2.5),
                &self.raw_publish,
                insert_many,
            ),
            rate(
                "consume, every event acked",
                &self.consume,
                Goal::OfBareAtLeast(2.0),
                &self.raw_read,
                "find, 1000 a batch",
            ),
            rate(
                "two hubs, a partition each",
                &self.two_hubs,
                Goal::OfBareAtLeast(1.0),
                &self.one_hub,
                "one hub, one partition",
            ),
            Figure::new("single publisher, p50", median(&self.publish_ms), "ms", Goal::OfBareAtMost(1.5))
                .beside(median(&self.raw_insert_ms), "insertOne"),
        ]
    }
}

fn median(values: &[f64]) -> f64 {
    Summary::of(values).map_or(f64::NAN, |summary| summary.median)
}

/// With how far the rounds lay apart.
fn named(name: &str, values: &[f64]) -> String {
    let spread = Summary::of(values)
        .map(|summary| format!(" ({}–{}/s)", crate::table::count(summary.least), crate::table::count(summary.most)));
    format!("{name}{}", spread.unwrap_or_default())
}
