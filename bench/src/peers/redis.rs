//! Redis Streams with the crate `redis`: pipelined XADD, XREADGROUP and XACK over multiplexed connections, with the
//! append-only file on.

mod client;
mod server;

use std::sync::Arc;

use anyhow::Context;
use prom_testkit::tools;

use crate::load::contender::{About, Contender, Setting};
use server::Redis;

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
    name: "Redis, AOF always",
    promise: "synced before it is acknowledged (`appendfsync always`)",
    setting: Setting::Durable,
    ..DEFAULT
};

pub fn contenders() -> anyhow::Result<Vec<Arc<dyn Contender>>> {
    let program = tools::find("REDIS_SERVER", "redis-server", &[])
        .context("Redis: no redis-server on the path nor in $REDIS_SERVER")?;
    let one = |about| Arc::new(Redis::new(about, program.clone())) as Arc<dyn Contender>;
    Ok(vec![one(DEFAULT), one(DURABLE)])
}
