//! `prom-bench compare`: our hub and its peers under the same load, one after the other, round after round.
//!
//! Every measurement has a fresh server on free ports and a directory of its own, the same payloads, windows and
//! warm-up, and clients in this process. Rounds are interleaved (A B C, A B C, …), ratios are taken within a round, and
//! what is printed is the median with the least and the most. What was consumed is held against what was published.

mod case;
mod goals;
mod measure;
mod plots;
mod report;
mod results;
mod schedule;

use std::sync::Arc;

use anyhow::{Context, ensure};

use crate::args::{Args, Output};
use crate::hub::process::prom_binary;
use crate::interrupt;
use crate::load::contender::{Contender, Ground};
use crate::machine;
use crate::ours::{Hub, Way};
use crate::place::Place;
use case::Case;
use report::Report;

/// Written before the first round, so that no contender pays for a first touch of the disk.
const WARM_BYTES: u64 = 4 << 30;

pub fn run(args: &Args) -> anyhow::Result<()> {
    let cases = case::list(args)?;
    let contenders = contenders(args)?;
    let place = Place::make(args)?;
    eprintln!("measuring: {}", place.describe());
    if args.is_full() {
        eprintln!("  writing {} GB so that nobody pays for a first touch of the disk", WARM_BYTES >> 30);
        place.warm(WARM_BYTES)?;
    }
    let report = interrupt::block_on(measure_all(args, &place, cases, contenders))?;
    match args.output {
        Output::Table => println!("{}", report.text()),
        Output::Json => println!("{}", report.json()),
    }
    if let Some(dir) = &args.write {
        report.write(dir).with_context(|| format!("writing to {}", dir.display()))?;
    }
    ensure!(report.failures.is_empty(), "{} measurements failed", report.failures.len());
    Ok(())
}

async fn measure_all(
    args: &Args,
    place: &Place,
    cases: Vec<Case>,
    contenders: Vec<Arc<dyn Contender>>,
) -> anyhow::Result<Report> {
    let ground = Ground::at(place.path());
    let mut versions = Vec::new();
    for contender in &contenders {
        versions.push((*contender.about(), contender.version().await?));
    }
    let measured = schedule::run(&cases, &contenders, &ground, args.rounds).await?;
    let machine = format!("{}; {}", machine::describe(), place.describe());
    Ok(Report { machine, versions, cases, results: measured.results, failures: measured.failures })
}

fn contenders(args: &Args) -> anyhow::Result<Vec<Arc<dyn Contender>>> {
    let prom = prom_binary(args)?;
    let mut all: Vec<Arc<dyn Contender>> =
        vec![Arc::new(Hub { prom: prom.clone(), way: Way::PlainFrames }), Arc::new(Hub { prom, way: Way::RustClient })];
    add_peers(&mut all);
    if !args.peers.is_empty() {
        let named = |id: &str| args.peers.iter().any(|word| id.starts_with(word.as_str()));
        all.retain(|contender| named(contender.about().id));
    }
    ensure!(!all.is_empty(), "--peers names nobody; there are prom, nats, redis and rabbitmq");
    Ok(all)
}

#[cfg(feature = "peers")]
fn add_peers(all: &mut Vec<Arc<dyn Contender>>) {
    let found = crate::peers::find();
    for reason in found.missing {
        eprintln!("left out: {reason}");
    }
    all.extend(found.contenders);
}

#[cfg(not(feature = "peers"))]
fn add_peers(_all: &mut Vec<Arc<dyn Contender>>) {
    eprintln!("our hub alone: build with `--features peers` to have others beside it");
}
