//! `prom-bench growth`: the hub's figures while something grows: the events of a topic, the topics, the groups, the
//! connections. They should stay flat, or we should know why not.
//!
//! Each point has a fresh hub. Rates and latencies are by our Rust client, fsync on, 256-byte payloads.

mod axis;
mod connections;
mod events;
mod groups;
mod point;
mod report;
mod topics;

use anyhow::Context;

use crate::args::{Args, Output};
use crate::hub::process::prom_binary;
use crate::interrupt;
use crate::machine;
use crate::ours::{HubServer, Way};
use crate::place::Place;
use axis::Axis;
use point::{Point, Scene};
use report::Report;

pub fn run(args: &Args) -> anyhow::Result<()> {
    let axes = axis::list(args)?;
    let place = Place::make(args)?;
    eprintln!("measuring: {}", place.describe());
    let report = interrupt::block_on(measure(args, &place, axes))?;
    match args.output {
        Output::Table => println!("{}", report.text()),
        Output::Json => println!("{}", report.json()),
    }
    match &args.write {
        Some(dir) => report.write(dir).with_context(|| format!("writing to {}", dir.display())),
        None => Ok(()),
    }
}

async fn measure(args: &Args, place: &Place, axes: Vec<(Axis, Vec<u64>)>) -> anyhow::Result<Report> {
    let prom = prom_binary(args)?;
    let mut measured = Vec::new();
    for (axis, sizes) in axes {
        let mut points = Vec::new();
        for size in sizes {
            eprintln!("{}: {size}", axis.name());
            let dir = place.path().join(format!("{}-{size}", axis.name()));
            std::fs::create_dir_all(&dir)?;
            let server = HubServer::start(prom.clone(), Way::RustClient, dir).await?;
            let mut scene = Scene::new(server, args);
            let figures = match axis {
                Axis::Events => events::measure(&mut scene, size).await,
                Axis::Topics => topics::measure(&mut scene, usize::try_from(size)?).await,
                Axis::Groups => groups::measure(&mut scene, usize::try_from(size)?).await,
                Axis::Connections => connections::measure(&mut scene, usize::try_from(size)?).await,
            };
            let figures = figures.with_context(|| format!("{} {}", size, axis.name()))?;
            scene.stop().await?;
            points.push(Point { size, figures });
        }
        measured.push((axis, points));
    }
    Ok(Report { machine: format!("{}; {}", machine::describe(), place.describe()), measured })
}
