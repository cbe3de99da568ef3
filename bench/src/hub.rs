//! `prom-bench hub`: the real `prom serve` as a process of its own, over sockets, fsync on.
//!
//! Publishing and consuming by plain frames and by the Rust client, what idle connections cost while busy ones work, and
//! the export of a large topic.

mod busy;
mod connections;
mod export;

use std::sync::Arc;

use crate::args::HubArgs;
use crate::figure::{self, Figure, Goal};
use crate::interrupt;
use crate::load::consume::{self, Backlog};
use crate::load::publish::{self, Publishing};
use crate::load::rate::Spans;
use crate::load::server::Server;
use crate::load::{fill, topics::Topics};
use crate::ours::{HubClient, HubContender};
use crate::work_dir::WorkDir;

const TITLE: &str = "The hub over loopback, fsync on, 256-byte payloads";
const CLIENTS: [(&str, HubClient); 2] =
    [("plain frames", HubClient::PlainFrames), ("Rust client", HubClient::RustClient)];

pub fn run(args: &HubArgs) -> anyhow::Result<()> {
    let work_dir = WorkDir::make(&args.files)?;
    let about = work_dir.describe();
    eprintln!("measuring: {about}");
    let figures = interrupt::block_on(measure(args, &work_dir))?;
    figure::print(&args.measure, &about, TITLE, &figures);
    Ok(())
}

async fn measure(args: &HubArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    let hub = HubContender::new(args.binary.path()?, HubClient::RustClient);
    let mut server = hub.start(work_dir.path().join("hub")).await?;
    let ready = Figure::new("ready after start", server.process()?.ready_ms, "ms", Goal::AtMost(100.0));
    let idle = Figure::new("idle, resident", server.process()?.resident_mb()?, "MB", Goal::AtMost(20.0));
    let mut figures = vec![ready, idle];
    figures.extend(consuming(args, &hub, &mut server).await?);
    figures.extend(publishing(args, &hub, &mut server).await?);
    figures.extend(connections::figures(server.process()?, args).await?);
    figures.extend(export::figures(&mut server, args).await?);
    server.end().await?;
    Ok(figures)
}

fn spans(args: &HubArgs) -> Spans {
    Spans { warm_up: args.measure.span() / 4, measured: args.measure.span() }
}

async fn publishing(args: &HubArgs, hub: &HubContender, server: &mut Server) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, client) in CLIENTS {
        eprintln!("  publish, {name}");
        server.contender = Arc::new(HubContender { client, ..hub.clone() });
        let rate = publish::rate(server, Publishing::USUAL, spans(args)).await?;
        let name = format!("publish, {name}, 2 connections, 2000 in flight each");
        figures.push(Figure::new(name, rate, "events/s", Goal::None));
    }
    Ok(figures)
}

/// A backlog that each of them consumes in a group of its own.
async fn consuming(args: &HubArgs, hub: &HubContender, server: &mut Server) -> anyhow::Result<Vec<Figure>> {
    let events = args.measure.full_or_quick(2_000_000, 200_000);
    let backlog = Backlog { topics: Topics::ONE, payload_bytes: publish::PAYLOAD_BYTES, events };
    eprintln!("  filling a backlog of {events} events");
    fill::fill(server, backlog).await?;
    let mut figures = Vec::new();
    for (name, client) in CLIENTS {
        eprintln!("  consume, {name}");
        let group = format!("consume{}", figures.len());
        server.contender = Arc::new(HubContender { client, group, ..hub.clone() });
        let rate = consume::rate(server, 1, backlog, spans(args)).await?;
        figures.push(Figure::new(format!("consume and ack each, {name}"), rate, "events/s", Goal::None));
    }
    Ok(figures)
}
