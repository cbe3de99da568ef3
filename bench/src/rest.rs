//! `prom-bench rest`: what the hub costs when nothing happens, and how long it takes to start, empty and on a large
//! log; with the feature `peers`, others beside it.

mod beside;
mod ours;

use std::fs;
use std::time::Duration;

use anyhow::Context;

use crate::args::RestArgs;
use crate::figure::{self, Figure};
use crate::proc;
use crate::work_dir::WorkDir;
use crate::{interrupt, machine};

const TITLE: &str = "At rest";

pub fn run(args: &RestArgs) -> anyhow::Result<()> {
    let work_dir = WorkDir::make(&args.files)?;
    let about = format!("{}; {}", machine::describe(), work_dir.describe());
    eprintln!("measuring: {about}");
    let figures = interrupt::block_on(async {
        let mut figures = ours::figures(args, &work_dir).await?;
        figures.extend(beside::figures(args, &work_dir).await?);
        Ok(figures)
    })?;
    figure::print(&args.measure, &about, TITLE, &figures);
    let Some(dir) = &args.write.dir else {
        return Ok(());
    };
    fs::create_dir_all(dir).with_context(|| format!("making {}", dir.display()))?;
    let head = "Written by `prom-bench rest --write`; [how to repeat it](README.md).";
    fs::write(dir.join("rest.md"), format!("# {}\n{head}\n\n{about}.\n", figure::table(TITLE, &figures)))?;
    fs::write(dir.join("rest.json"), format!("{:#}\n", figure::json(&about, &figures)))?;
    Ok(())
}

/// How long to look at what idles.
fn look(args: &RestArgs) -> Duration {
    args.measure.full_or_quick(Duration::from_secs(10), Duration::from_secs(2))
}

/// Processor time that these processes take while nothing is asked of them, in percent of one processor.
async fn idle_percent(processes: &[i32], look: Duration) -> anyhow::Result<f64> {
    let time = || processes.iter().map(|one| proc::processor_time(*one)).sum::<anyhow::Result<Duration>>();
    let before = time()?;
    tokio::time::sleep(look).await;
    // A thread that ended took its time along.
    Ok(time()?.saturating_sub(before).as_secs_f64() / look.as_secs_f64() * 100.0)
}

fn percent(name: impl Into<String>, value: f64, goal: figure::Goal) -> Figure {
    Figure::new(name, value, "%", goal)
}
