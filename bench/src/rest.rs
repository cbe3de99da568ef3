//! `prom-bench rest`: what the hub costs when nothing happens, and how long it takes to start, empty and on a large
//! log; with the feature `peers`, others beside it.

mod beside;
mod ours;

use std::fs;
use std::time::Duration;

use anyhow::Context;

use crate::args::{Args, Output};
use crate::figure::{self, Figure};
use crate::place::Place;
use crate::proc;
use crate::{interrupt, machine};

const TITLE: &str = "At rest";

pub fn run(args: &Args) -> anyhow::Result<()> {
    let place = Place::make(args)?;
    let about = format!("{}; {}", machine::describe(), place.describe());
    eprintln!("measuring: {about}");
    let figures = interrupt::block_on(async {
        let mut figures = ours::figures(args, &place).await?;
        figures.extend(beside::figures(args, &place).await?);
        Ok(figures)
    })?;
    match args.output {
        Output::Table => println!("{about}\n\n{}", figure::table(TITLE, &figures)),
        Output::Json => println!("{}", figure::json(&about, &figures)),
    }
    let Some(dir) = &args.write else {
        return Ok(());
    };
    fs::create_dir_all(dir).with_context(|| format!("making {}", dir.display()))?;
    let head = "Written by `prom-bench rest --write`; [how to repeat it](README.md).";
    fs::write(dir.join("rest.md"), format!("# {}\n{head}\n\n{about}.\n", figure::table(TITLE, &figures)))?;
    fs::write(dir.join("rest.json"), format!("{:#}\n", figure::json(&about, &figures)))?;
    Ok(())
}

/// How long to look at what idles.
fn look(args: &Args) -> Duration {
    match args.is_full() {
        true => Duration::from_secs(10),
        false => Duration::from_secs(2),
    }
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
