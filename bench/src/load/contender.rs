//! What is asked of each server that is measured, ours and others: the same verbs, each in the words of its best
//! client library. A connection's whole loop is one call, so that the interface costs nothing per event.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use prom_load::{ConsumeJob, PayloadLabel, PublishJob};
use prom_types::Position;

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

#[async_trait]
pub trait Contender: Send + Sync {
    fn about(&self) -> &About;

    /// Of the server's program.
    async fn version(&self) -> anyhow::Result<String>;

    /// An empty server.
    async fn start(&self, dirs: &ServerDirs) -> anyhow::Result<Box<dyn Server>>;
}

/// A server that runs.
#[async_trait]
pub trait Server: Send + Sync {
    /// Makes the topics where publishing would not.
    async fn make(&self, topics: &Topics) -> anyhow::Result<()>;

    async fn publisher(&self, topics: &Topics) -> anyhow::Result<Box<dyn Publisher>>;

    /// A member of the group, which begins at the earliest event.
    async fn consumer(&self, topics: &Topics) -> anyhow::Result<Box<dyn Consumer>>;

    /// A reader of everything, without a group, from the earliest or the latest event.
    async fn tail(&self, topics: &Topics, from: Position) -> anyhow::Result<Box<dyn Tail>>;

    /// While a backlog is filled that is not itself measured, durability may rest…
    async fn loosen(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    /// …and has to be back before anything is measured.
    async fn tighten(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    /// Ends it and starts it on the same data, which is no longer in the page cache.
    async fn restart(&mut self) -> anyhow::Result<()>;

    /// An error, with what it said last, if it has ended.
    fn check(&mut self) -> anyhow::Result<()>;

    #[cfg(feature = "peers")]
    fn process(&self) -> i32;

    /// Ends it and removes its data.
    async fn stop(self: Box<Self>) -> anyhow::Result<()>;
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

/// Where servers put their files: a directory for each start.
pub struct ServerDirs {
    root: PathBuf,
    made: AtomicU32,
}

impl ServerDirs {
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), made: AtomicU32::new(0) }
    }

    /// A new, empty directory.
    pub fn fresh(&self, name: &str) -> anyhow::Result<PathBuf> {
        let dir = self.root.join(format!("{name}-{}", self.made.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir_all(&dir)?;
        Ok(dir)
    }
}
