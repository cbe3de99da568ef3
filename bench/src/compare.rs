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

use crate::args::CompareArgs;
use crate::interrupt;
use crate::load::contender::Contender;
use crate::machine;
use crate::ours::{HubClient, HubContender};
use crate::peers;
use crate::work_dir::WorkDir;
use case::Case;
pub use case::Shape;
use report::Report;

/// Written before the first round, so that no contender pays for a first touch of the disk.
const WARM_BYTES: u64 = 4 << 30;

pub fn run(args: &CompareArgs) -> anyhow::Result<()> {
    let cases = case::list(args);
    let contenders = contenders(args)?;
    let work_dir = WorkDir::make(&args.files)?;
    eprintln!("measuring: {}", work_dir.describe());
    if !args.measure.quick {
        work_dir.warm(WARM_BYTES)?;
    }
    let report = interrupt::block_on(measure_all(args, &work_dir, cases, contenders))?;
    if args.measure.json {
        println!("{}", report.json());
    } else {
        println!("{}", report.text());
    }
    if let Some(dir) = &args.write.dir {
        report.write(dir).with_context(|| format!("writing to {}", dir.display()))?;
    }
    ensure!(report.failures.is_empty(), "{} measurements failed", report.failures.len());
    Ok(())
}

async fn measure_all(
    args: &CompareArgs,
    work_dir: &WorkDir,
    cases: Vec<Case>,
    contenders: Vec<Arc<dyn Contender>>,
) -> anyhow::Result<Report> {
    let mut versions = Vec::new();
    for contender in &contenders {
        versions.push((*contender.about(), contender.version().await?));
    }
    let measured = schedule::run(&cases, &contenders, work_dir, args.rounds).await?;
    let machine = format!("{}; {}", machine::describe(), work_dir.describe());
    Ok(Report { machine, versions, cases, results: measured.results, failures: measured.failures })
}

fn contenders(args: &CompareArgs) -> anyhow::Result<Vec<Arc<dyn Contender>>> {
    let prom = args.binary.path()?;
    let ours = |client| Arc::new(HubContender::new(prom.clone(), client)) as Arc<dyn Contender>;
    let mut all = vec![ours(HubClient::PlainFrames), ours(HubClient::RustClient)];
    all.extend(peers::find());
    all.retain(|contender| args.peers.include(contender.about().id));
    ensure!(!all.is_empty(), "--peers names no server; there are prom, nats, redis and rabbitmq");
    Ok(all)
}
