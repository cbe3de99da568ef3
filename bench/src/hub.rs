//! `prom-bench hub`: the real `prom serve` as a process of its own, over sockets, fsync on.
//!
//! Publishing and consuming by plain and by batched frames, what idle connections cost while busy ones
//! work, and the export of a large topic.

mod busy;
mod connections;
mod consume;
mod export;
pub mod process;
pub mod publish;
pub mod socket;

use crate::args::{Args, Output};
use crate::figure::{self, Figure, Goal};
use crate::place::Place;
use process::HubProcess;

pub fn run(args: &Args) -> anyhow::Result<()> {
    let place = Place::make(args)?;
    let about = place.describe();
    eprintln!("measuring: {about}");
    let runtime = tokio::runtime::Runtime::new()?;
    let figures = runtime.block_on(measure(args, &place))?;
    let title = "The hub over loopback, fsync on, 256-byte payloads";
    match args.output {
        Output::Table => println!("{about}\n\n{}", figure::table(title, &figures)),
        Output::Json => println!("{}", figure::json(&about, &figures)),
    }
    Ok(())
}

async fn measure(args: &Args, place: &Place) -> anyhow::Result<Vec<Figure>> {
    let hub = HubProcess::start(&process::prom_binary(args)?, &place.path().join("hub")).await?;
    let ready = Figure::new("ready after start", hub.ready_ms, "ms", Goal::AtMost(100.0));
    let idle = Figure::new("idle, resident", hub.resident_mb()?, "MB", Goal::AtMost(20.0));
    let mut figures = vec![ready, idle];
    for (name, per_frame) in [("publish, one event a frame", 1), ("publish, 128 events a frame", 128)] {
        eprintln!("  {name}");
        let rate = publish::rate(&hub, per_frame, args.span()).await?;
        figures.push(Figure::new(format!("{name}, 2 connections, 2000 in flight"), rate, "events/s", Goal::None));
    }
    for (name, features) in [("plain frames", &[][..]), ("batched frames", &["batch"][..])] {
        eprintln!("  consume, {name}");
        let rate = consume::rate(&hub, features, args.span()).await?;
        figures.push(Figure::new(format!("consume and ack each, {name}"), rate, "events/s", Goal::None));
    }
    figures.extend(connections::figures(&hub, args).await?);
    figures.extend(export::figures(&hub, args).await?);
    hub.stop().await?;
    Ok(figures)
}
