//! Redis Streams with the crate `redis`: pipelined XADD, XREADGROUP and XACK over multiplexed connections, with the
//! append-only file on.

mod client;
mod server;

use std::sync::Arc;

use anyhow::Context;

use crate::load::contender::{About, Contender, Setting};
use server::{Fsync, Redis};

const DEFAULT: About = About {
    id: "redis-everysec",
    server: "Redis Streams",
    name: "Redis, AOF everysec",
    promise: "in memory and written; synced every second",
    setting: Setting::Default,
    consumes_per_second: 250_000.0,
    members: 2,
};
const DURABLE: About = About {
    id: "redis-always",
    server: "Redis Streams",
    name: "Redis, AOF always",
    promise: "synced before it is acknowledged (`appendfsync always`)",
    setting: Setting::Durable,
    consumes_per_second: 250_000.0,
    members: 2,
};

pub fn contenders() -> anyhow::Result<Vec<Arc<dyn Contender>>> {
    let program = super::tools::find("REDIS_SERVER", "redis-server", &[])
        .context("Redis: no redis-server on the path nor in $REDIS_SERVER")?;
    Ok(vec![
        Arc::new(Redis { about: DEFAULT, program: program.clone(), fsync: Fsync::EverySecond }),
        Arc::new(Redis { about: DURABLE, program, fsync: Fsync::Always }),
    ])
}
