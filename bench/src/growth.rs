//! `prom-bench growth`: the hub's figures while something grows: the events of a topic, the topics, the topics that are
//! quiet, the groups, the connections. They should stay flat, or we should know why not.
//!
//! Each point has a fresh hub. Rates and latencies are by our Rust client, fsync on, 256-byte payloads.

mod axis;
mod connections;
mod events;
mod groups;
mod point;
mod quiet;
mod report;
mod topics;

use anyhow::Context;

use crate::args::GrowthArgs;
use crate::interrupt;
use crate::machine;
use crate::ours::{HubClient, HubContender};
use crate::work_dir::WorkDir;
pub use axis::Axis;
use point::{Point, Scene};
use report::Report;

pub fn run(args: &GrowthArgs) -> anyhow::Result<()> {
    let axes = axis::list(args);
    let work_dir = WorkDir::make(&args.files)?;
    eprintln!("measuring: {}", work_dir.describe());
    let report = interrupt::block_on(measure(args, &work_dir, axes))?;
    if args.measure.json {
        println!("{}", report.json());
    } else {
        println!("{}", report.text());
    }
    match &args.write.dir {
        Some(dir) => report.write(dir).with_context(|| format!("writing to {}", dir.display())),
        None => Ok(()),
    }
}

async fn measure(args: &GrowthArgs, work_dir: &WorkDir, axes: Vec<(Axis, Vec<u64>)>) -> anyhow::Result<Report> {
    let hub = HubContender::new(args.binary.path()?, HubClient::RustClient);
    let mut measured = Vec::new();
    for (axis, sizes) in axes {
        let mut points = Vec::new();
        for size in sizes {
            eprintln!("{}: {size}", axis.name());
            let dir = work_dir.path().join(format!("{}-{size}", axis.name()));
            let mut scene = Scene::start(hub.clone(), dir, args).await?;
            let figures = match axis {
                Axis::Events => events::measure(&mut scene, size).await,
                Axis::Topics => topics::measure(&mut scene, usize::try_from(size)?).await,
                Axis::Quiet => quiet::measure(&mut scene, usize::try_from(size)?).await,
                Axis::Groups => groups::measure(&mut scene, usize::try_from(size)?).await,
                Axis::Connections => connections::measure(&mut scene, usize::try_from(size)?).await,
            };
            let figures = figures.with_context(|| format!("{} {}", size, axis.name()))?;
            scene.server.remove()?;
            points.push(Point { size, figures });
        }
        measured.push((axis, points));
    }
    Ok(Report { machine: format!("{}; {}", machine::describe(), work_dir.describe()), measured })
}
