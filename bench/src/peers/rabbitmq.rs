//! RabbitMQ with `lapin`: persistent messages with publisher confirms. Its default queue and its durable, replicated
//! queue take part where a group consumes; its stream queue where a log is read.

mod client;
mod server;

use std::sync::Arc;

use anyhow::Context;
use prom_testkit::tools;

use crate::load::contender::{About, Contender, Setting};
use server::Rabbit;

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
    name: "RabbitMQ, quorum queue",
    promise: "synced by its log before it is confirmed (one node)",
    setting: Setting::Durable,
    ..CLASSIC
};
const STREAM: About =
    About { id: "rabbitmq-stream", name: "RabbitMQ, stream", promise: "written to a file, confirmed", ..CLASSIC };

pub fn contenders() -> anyhow::Result<Vec<Arc<dyn Contender>>> {
    let places = ["/usr/lib/rabbitmq/bin/rabbitmq-server"];
    let program = tools::find("RABBITMQ_SERVER", "rabbitmq-server", &places)
        .context("RabbitMQ: no rabbitmq-server on the path nor in $RABBITMQ_SERVER")?;
    let epmd = tools::find("EPMD", "epmd", &[]).context("RabbitMQ: no epmd on the path")?;
    let one = |about, queue_type| {
        let (program, epmd, shared) = (program.clone(), epmd.clone(), Default::default());
        Arc::new(Rabbit { about, queue_type, program, epmd, shared }) as Arc<dyn Contender>
    };
    Ok(vec![one(CLASSIC, "classic"), one(QUORUM, "quorum"), one(STREAM, "stream")])
}
