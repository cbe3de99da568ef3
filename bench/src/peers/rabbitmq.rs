//! RabbitMQ with `lapin`: persistent messages with publisher confirms. Its default queue and its durable, replicated
//! queue take part where a group consumes; its stream queue where a log is read.
//!
//! A node takes seconds to start. So one serves all its contenders and all rounds, is suspended while others are
//! measured, and gives each measurement a new queue.

mod client;
mod node;
mod server;

use std::sync::Arc;

use anyhow::Context;

use crate::load::contender::{About, Contender, Setting};
use node::Node;
use server::{QueueType, Rabbit};

const CLASSIC: About = About {
    id: "rabbitmq-classic",
    server: "RabbitMQ",
    name: "RabbitMQ, classic queue",
    promise: "persistent message in a durable queue, confirmed",
    setting: Setting::Default,
    consumes_per_second: 40_000.0,
    members: 1,
};
const QUORUM: About = About {
    id: "rabbitmq-quorum",
    server: "RabbitMQ",
    name: "RabbitMQ, quorum queue",
    promise: "synced by its log before it is confirmed (one node)",
    setting: Setting::Durable,
    consumes_per_second: 40_000.0,
    members: 1,
};
const STREAM: About = About {
    id: "rabbitmq-stream",
    server: "RabbitMQ",
    name: "RabbitMQ, stream",
    promise: "written to a file, confirmed",
    setting: Setting::Default,
    consumes_per_second: 40_000.0,
    members: 1,
};

pub fn contenders() -> anyhow::Result<Vec<Arc<dyn Contender>>> {
    let places = ["/usr/lib/rabbitmq/bin/rabbitmq-server"];
    let program = super::tools::find("RABBITMQ_SERVER", "rabbitmq-server", &places)
        .context("RabbitMQ: no rabbitmq-server on the path nor in $RABBITMQ_SERVER")?;
    let epmd = super::tools::find("EPMD", "epmd", &[]).context("RabbitMQ: no epmd on the path")?;
    let node = Arc::new(Node::new(program, epmd));
    let one = |about, queue| Arc::new(Rabbit { about, queue, node: node.clone() }) as Arc<dyn Contender>;
    Ok(vec![one(CLASSIC, QueueType::Classic), one(QUORUM, QueueType::Quorum), one(STREAM, QueueType::Stream)])
}
