//! `prom-bench schema`: what schemas cost, and what they cost topics that have none.
//!
//! The events are heartbeats of three versions; see [`heartbeat`]. What the bus makes of them is compared with the same
//! work done by hand, payload by payload: a figure is printed only where they are equal.

mod heartbeat;
mod judge;
mod normalize;
mod prove;
mod publish;

use crate::args::SchemaArgs;
use crate::embedded_bus::EmbeddedBus;
use crate::figure::{self, Figure, Goal};
use crate::interrupt;
use crate::summary::Summary;
use crate::work_dir::WorkDir;

const TITLE: &str = "Schemas: heartbeats of three versions on the embedded store";
/// Judging and stamping one heartbeat.
const JUDGE_NS: f64 = 1_000.0;
/// The rounds of one measurement lie further apart than this.
const NO_MEASURABLE_COST: f64 = 0.97;

pub fn run(args: &SchemaArgs) -> anyhow::Result<()> {
    let work_dir = WorkDir::make(&args.files)?;
    let about = work_dir.describe();
    eprintln!("measuring: {about}");
    let figures = interrupt::block_on(measure(args, &work_dir))?;
    figure::print(&args.measure, &about, TITLE, &figures);
    Ok(())
}

async fn measure(args: &SchemaArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    let mut figures = judging(args, work_dir).await?;
    figures.extend(publishing(args, work_dir).await?);
    figures.extend(reading(args, work_dir).await?);
    Ok(figures)
}

async fn judging(args: &SchemaArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    eprintln!("  judging and stamping");
    let ours = EmbeddedBus::open_at(&work_dir.fresh("judge")?).await?;
    let judged = judge::cost(&ours.bus, args.measure.full_or_quick(1_000, 100)).await?;
    ours.close().await?;
    let ns = |name: &str, rounds: &[f64], goal| Figure::new(name, Summary::median_of(rounds), "ns", goal);
    let bare = Summary::median_of(&judged.bare);
    Ok(vec![
        ns("judge and stamp a heartbeat", &judged.stamped, Goal::AtMost(JUDGE_NS))
            .beside(bare, "jsonschema, parsed before"),
        ns("(parse the payload alone)", &judged.parsed, Goal::None),
    ])
}

async fn publishing(args: &SchemaArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    let rounds = publish::Rounds::measure(work_dir, args.rounds, args.measure.span()).await?;
    let rate = |name: &str, rates: &[f64], goal| Figure::new(name, Summary::median_of(rates), "events/s", goal);
    let empty = Summary::median_of(&rounds.empty);
    let beside = |figure: Figure| figure.beside(empty, "no schema anywhere");
    Ok(vec![
        rate("publish, no schema anywhere", &rounds.empty, Goal::None),
        beside(rate("publish, no schema, beside 1000 topics with one", &rounds.among, publish_goal())),
        beside(rate("publish with the heartbeat schema", &rounds.judged, Goal::None)),
    ])
}

fn publish_goal() -> Goal {
    Goal::OfBareAtLeast(NO_MEASURABLE_COST)
}

async fn reading(args: &SchemaArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    let events = args.measure.full_or_quick(args.events, args.events.min(50_000));
    let dir = work_dir.fresh("versions")?;
    let read = normalize::measure(&dir, events).await?;
    let proved = prove::measure(&dir, events).await?;
    let rate = |name: String, rate: f64| Figure::new(name, rate, "events/s", Goal::None);
    let many = prom_load::figures::count(events as f64);
    let beside = |name: String, normalized: f64| rate(name, normalized).beside(read.raw, "as stored");
    Ok(vec![
        rate(format!("read {many} events through a group, as stored"), read.raw),
        beside(format!("read {many} events normalised, upcasters in jq, all equal"), read.by_programs),
        beside(format!("read {many} events normalised, upcasters in Rust, all equal"), read.by_functions),
        rate(format!("prove a candidate over {many} events, in {:.1} s", proved.seconds), proved.rate)
            .beside(read.raw, "as stored"),
    ])
}
