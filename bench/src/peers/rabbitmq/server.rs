//! A queue of one type on the node, new for each measurement.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use async_trait::async_trait;
use lapin::options::{BasicQosOptions, QueueDeclareOptions, QueueDeleteOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, Connection};
use prom_types::Position;
use tokio::sync::Mutex;

use super::client::{RabbitConsumer, RabbitPublisher, RabbitTail};
use super::node::Node;
use crate::load::contender::{About, Consumer, Contender, Publisher, Server, ServerDirs, Tail};
use crate::load::topics::Topics;

/// Messages sent to a consumer before it acks.
const PREFETCH: u16 = 4_000;
/// A stream's reader is sent this many before it acks, and it acks often.
const STREAM_PREFETCH: u16 = 1_000;
/// A connection of `lapin` has a thread of its own: readers share some.
const READERS_PER_CONNECTION: usize = 100;

const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueType {
    Classic,
    Quorum,
    Stream,
}

impl QueueType {
    fn word(self) -> &'static str {
        match self {
            Self::Classic => "classic",
            Self::Quorum => "quorum",
            Self::Stream => "stream",
        }
    }
}

pub struct Rabbit {
    pub about: About,
    pub queue: QueueType,
    pub node: Arc<Node>,
}

#[async_trait]
impl Contender for Rabbit {
    fn about(&self) -> &About {
        &self.about
    }

    async fn version(&self) -> anyhow::Result<String> {
        Ok(self.node.version())
    }

    async fn start(&self, dirs: &ServerDirs) -> anyhow::Result<Box<dyn Server>> {
        static MEASUREMENTS: AtomicU32 = AtomicU32::new(0);
        self.node.wake(dirs).await?;
        Ok(Box::new(RabbitServer {
            queue: self.queue,
            node: self.node.clone(),
            prefix: format!("m{}.", MEASUREMENTS.fetch_add(1, Ordering::Relaxed)),
            made: Mutex::new(Vec::new()),
            readers: Mutex::new((0, Vec::new())),
        }))
    }
}

struct RabbitServer {
    queue: QueueType,
    node: Arc<Node>,
    /// Makes the names of queues new.
    prefix: String,
    made: Mutex<Vec<String>>,
    /// How many readers there are, and their connections.
    readers: Mutex<(usize, Vec<Arc<Connection>>)>,
}

impl RabbitServer {
    fn queues(&self, topics: &Topics) -> Vec<String> {
        topics.names().map(|name| format!("{}{name}", self.prefix)).collect()
    }

    /// After a restart the node is there before its queues are.
    async fn look_for_queues(&self) -> anyhow::Result<()> {
        let connection = self.node.connect().await?;
        let channel = connection.create_channel().await?;
        for queue in self.made.lock().await.iter() {
            let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::durable() };
            channel.queue_declare(queue.as_str().into(), options, FieldTable::default()).await?;
        }
        Ok(())
    }

    async fn reader_channel(&self) -> anyhow::Result<(Channel, Arc<Connection>)> {
        let mut readers = self.readers.lock().await;
        if readers.0.is_multiple_of(READERS_PER_CONNECTION) {
            let connection = Arc::new(self.node.connect().await?);
            readers.1.push(connection);
        }
        readers.0 += 1;
        let connection = readers.1.last().context("no connection")?.clone();
        Ok((connection.create_channel().await?, connection))
    }
}

#[async_trait]
impl Server for RabbitServer {
    async fn make(&self, topics: &Topics) -> anyhow::Result<()> {
        let connection = self.node.connect().await?;
        let channel = connection.create_channel().await?;
        let mut made = self.made.lock().await;
        for queue in self.queues(topics) {
            let mut arguments = FieldTable::default();
            arguments.insert("x-queue-type".into(), AMQPValue::LongString(self.queue.word().into()));
            channel.queue_declare(queue.as_str().into(), QueueDeclareOptions::durable(), arguments).await?;
            made.push(queue);
        }
        Ok(())
    }

    async fn publisher(&self, topics: &Topics) -> anyhow::Result<Box<dyn Publisher>> {
        Ok(Box::new(RabbitPublisher::new(self.node.connect().await?, self.queues(topics)).await?))
    }

    async fn consumer(&self, topics: &Topics) -> anyhow::Result<Box<dyn Consumer>> {
        let connection = self.node.connect().await?;
        let channel = connection.create_channel().await?;
        channel.basic_qos(PREFETCH, BasicQosOptions::default()).await?;
        let queue = self.queues(topics).into_iter().next().context("no queue")?;
        Ok(Box::new(RabbitConsumer { connection, channel, queue }))
    }

    async fn tail(&self, topics: &Topics, from: Position) -> anyhow::Result<Box<dyn Tail>> {
        let (channel, connection) = self.reader_channel().await?;
        channel.basic_qos(STREAM_PREFETCH, BasicQosOptions::default()).await?;
        let queue = self.queues(topics).into_iter().next().context("no queue")?;
        Ok(Box::new(RabbitTail::start(channel, connection, &queue, from).await?))
    }

    async fn restart(&mut self) -> anyhow::Result<()> {
        *self.readers.lock().await = (0, Vec::new());
        self.node.restart().await?;
        let begun = Instant::now();
        while let Err(reason) = self.look_for_queues().await {
            ensure!(begun.elapsed() < PATIENCE, "queues did not come back after a restart: {reason:#}");
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    fn check(&mut self) -> anyhow::Result<()> {
        match self.node.try_running() {
            Some(mut running) => running.as_mut().map_or(Ok(()), |running| running.server.check()),
            None => Ok(()),
        }
    }

    fn process(&self) -> i32 {
        let running = self.node.try_running();
        running.and_then(|running| running.as_ref().map(|running| running.server.id())).unwrap_or(0)
    }

    async fn stop(mut self: Box<Self>) -> anyhow::Result<()> {
        *self.readers.lock().await = (0, Vec::new());
        let connection = self.node.connect().await?;
        let channel = connection.create_channel().await?;
        for queue in self.made.lock().await.drain(..) {
            channel.queue_delete(queue.as_str().into(), QueueDeleteOptions::default()).await?;
        }
        connection.close(200, "done".into()).await?;
        self.node.rest().await
    }
}
