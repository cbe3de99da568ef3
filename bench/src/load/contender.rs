//! What is asked of each server that is measured, ours and others: the same verbs, each in the words of its best
//! client library. A connection's whole loop is one call, so that the interface costs nothing per event.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use prom_load::{ConsumeJob, PayloadLabel, PublishJob};
use prom_types::Position;
use tokio::process::Command;

use super::topics::Topics;

/// Whether a receipt waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// As it comes, with files.
    Default,
    /// Synced before it is acknowledged.
    Durable,
}

/// One server in one setting with one client.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// For files and options: `nats-default`.
    pub id: &'static str,
    pub server: &'static str,
    /// For people: `JetStream, default`.
    pub name: &'static str,
    /// What a receipt means in this setting.
    pub promise: &'static str,
    pub setting: Setting,
    /// About how many events a second its group consumes: decides the size of the backlog, not the figure.
    pub consumes_per_second: f64,
    /// Members of the group, each with a connection, with which it consumes fastest on two processors.
    pub members: usize,
}

/// What differs between servers. Everything else about a running one is a [`Server`](super::server::Server).
#[async_trait]
pub trait Contender: Send + Sync {
    fn about(&self) -> &About;

    /// Of the server's program.
    async fn version(&self) -> anyhow::Result<String>;

    /// Runs the program on the files in `dir`, where it listens at `address`.
    fn command(&self, dir: &Path, address: SocketAddr, setting: Setting) -> anyhow::Result<Command>;

    async fn is_ready(&self, address: SocketAddr) -> bool;

    /// Whether another setting makes filling faster.
    fn can_loosen(&self) -> bool {
        self.about().setting == Setting::Durable
    }

    /// Makes the topics where publishing would not.
    async fn make(&self, _address: SocketAddr, _topics: &Topics) -> anyhow::Result<()> {
        Ok(())
    }

    async fn publisher(&self, address: SocketAddr, topics: &Topics) -> anyhow::Result<Box<dyn Publisher>>;

    /// A member of the group, which begins at the earliest event.
    async fn consumer(&self, address: SocketAddr, topics: &Topics) -> anyhow::Result<Box<dyn Consumer>>;

    /// A reader of everything, without a group, from the earliest or the latest event.
    async fn tail(&self, address: SocketAddr, topics: &Topics, from: Position) -> anyhow::Result<Box<dyn Tail>>;
}

#[async_trait]
pub trait Publisher: Send {
    /// Publishes until the job has nothing more to do and everything is acknowledged.
    async fn run(self: Box<Self>, job: Arc<PublishJob>) -> anyhow::Result<()>;

    /// Sends this one now and does not wait for its receipt.
    async fn send(&mut self, job: &PublishJob, label: PayloadLabel) -> anyhow::Result<()>;

    /// Waits for the receipts of everything that was sent.
    async fn acknowledged(&mut self) -> anyhow::Result<()>;
}

#[async_trait]
pub trait Consumer: Send {
    /// Takes events and settles each, until the job is over; then waits for the answers.
    async fn run(self: Box<Self>, job: Arc<ConsumeJob>) -> anyhow::Result<()>;
}

#[async_trait]
pub trait Tail: Send {
    /// Reads until it has as many events as the job expects.
    async fn run(self: Box<Self>, job: Arc<ConsumeJob>) -> anyhow::Result<()>;
}
