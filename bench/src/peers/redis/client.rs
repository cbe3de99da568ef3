//! The crate `redis` at its best: several pipelines under way on one connection; the ack of what was read travels with
//! the next read.

use std::collections::VecDeque;
use std::sync::Arc;

use anyhow::{Context, bail};
use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use prom_load::{ConsumeJob, Intake, PayloadLabel, PublishJob};
use prom_types::Position;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisResult, Value, cmd, pipe};
use tokio::task::JoinHandle;

use crate::load::contender::{Consumer, Publisher, Tail};
use crate::load::topics::{GROUP, Topics};

/// XADDs in one pipeline, at most; a window holds at least four.
const PIPELINED: usize = 200;
const PIPELINES: usize = 4;
/// Entries asked for at once.
const READ: usize = 500;
const FIELD: &str = "d";

pub struct RedisPublisher {
    connection: MultiplexedConnection,
    keys: Vec<String>,
    under_way: VecDeque<JoinHandle<RedisResult<()>>>,
}

impl RedisPublisher {
    pub fn new(connection: MultiplexedConnection, topics: &Topics) -> Self {
        Self { connection, keys: topics.names().collect(), under_way: VecDeque::new() }
    }

    fn add(&self, job: &PublishJob, label: PayloadLabel) -> Cmd {
        let mut add = cmd("XADD");
        add.arg(&self.keys[job.topic_of(label.number)]).arg("*").arg(FIELD).arg(&job.payload().make(label)[..]);
        add
    }
}

#[async_trait]
impl Publisher for RedisPublisher {
    async fn run(mut self: Box<Self>, job: Arc<PublishJob>) -> anyhow::Result<()> {
        let most = (job.in_flight / PIPELINES).clamp(1, PIPELINED);
        let (mut under_way, mut in_flight) = (FuturesUnordered::new(), 0);
        loop {
            while in_flight + most <= job.in_flight.max(most) {
                let Some(numbers) = job.take_many(most as u64) else { break };
                let count = (numbers.end - numbers.start) as usize;
                in_flight += count;
                let mut pipeline = pipe();
                for number in numbers {
                    pipeline.add_command(self.add(&job, PayloadLabel::untimed(number))).ignore();
                }
                let mut connection = self.connection.clone();
                under_way.push(async move { pipeline.exec_async(&mut connection).await.map(|()| count) });
            }
            let Some(done) = under_way.next().await else {
                return Ok(());
            };
            let done = done?;
            in_flight -= done;
            job.acked(done as u64);
        }
    }

    async fn send(&mut self, job: &PublishJob, label: PayloadLabel) -> anyhow::Result<()> {
        let (add, mut connection) = (self.add(job, label), self.connection.clone());
        self.under_way.push_back(tokio::spawn(async move { add.exec_async(&mut connection).await }));
        Ok(())
    }

    async fn acknowledged(&mut self) -> anyhow::Result<()> {
        while let Some(oldest) = self.under_way.pop_front() {
            oldest.await??;
        }
        Ok(())
    }
}

pub struct RedisConsumer {
    pub connection: MultiplexedConnection,
    pub key: String,
    pub name: String,
}

impl RedisConsumer {
    async fn read(&self) -> RedisResult<Value> {
        let mut connection = self.connection.clone();
        cmd("XREADGROUP")
            .arg(&["GROUP", GROUP, &self.name, "COUNT"])
            .arg(READ)
            .arg(&["BLOCK", "0", "STREAMS", &self.key, ">"])
            .query_async(&mut connection)
            .await
    }

    /// Counts them when Redis has answered, which may be long before there is more to read.
    async fn ack(&self, ids: &[Vec<u8>], intake: &mut Intake) -> RedisResult<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut connection = self.connection.clone();
        cmd("XACK").arg(&self.key).arg(GROUP).arg(ids).exec_async(&mut connection).await?;
        intake.settled(ids.len() as u64);
        Ok(())
    }
}

#[async_trait]
impl Consumer for RedisConsumer {
    async fn run(self: Box<Self>, job: Arc<ConsumeJob>) -> anyhow::Result<()> {
        let mut intake = job.intake();
        let over = job.over();
        tokio::pin!(over);
        let mut ids = Vec::new();
        loop {
            let read = tokio::select! {
                biased;
                (acked, read) = async { tokio::join!(self.ack(&ids, &mut intake), self.read()) } => {
                    acked?;
                    read?
                }
                _ = &mut over => return Ok(()),
            };
            ids = Vec::with_capacity(READ);
            for (id, payload) in entries(read)? {
                intake.arrived(&payload)?;
                ids.push(id);
            }
        }
    }
}

pub struct RedisTail {
    connection: MultiplexedConnection,
    key: String,
    after: Vec<u8>,
}

impl RedisTail {
    pub async fn begin(mut connection: MultiplexedConnection, key: String, from: Position) -> anyhow::Result<Self> {
        const FIRST: &[u8] = b"0-0";
        let after = match from {
            Position::Latest => {
                let last: Value =
                    cmd("XREVRANGE").arg(&[&key, "+", "-", "COUNT", "1"]).query_async(&mut connection).await?;
                entries_of(last)?.into_iter().next().map_or_else(|| FIRST.to_vec(), |(id, _)| id)
            }
            _ => FIRST.to_vec(),
        };
        Ok(Self { connection, key, after })
    }
}

#[async_trait]
impl Tail for RedisTail {
    async fn run(mut self: Box<Self>, job: Arc<ConsumeJob>) -> anyhow::Result<()> {
        let mut intake = job.intake();
        while !intake.has_all() {
            let mut read = cmd("XREAD");
            read.arg("COUNT").arg(READ).arg(&["BLOCK", "0", "STREAMS", &self.key]).arg(&self.after);
            for (id, payload) in entries(read.query_async(&mut self.connection).await?)? {
                intake.arrived(&payload)?;
                self.after = id;
            }
        }
        Ok(())
    }
}

type Entry = (Vec<u8>, Vec<u8>);

/// Ids and payloads out of `[[key, [[id, [field, payload]]…]]]`.
fn entries(reply: Value) -> anyhow::Result<Vec<Entry>> {
    let Value::Array(mut streams) = reply else {
        return Ok(Vec::new());
    };
    let Some(Value::Array(mut stream)) = streams.pop() else {
        return Ok(Vec::new());
    };
    entries_of(stream.pop().context("a stream without entries")?)
}

fn entries_of(list: Value) -> anyhow::Result<Vec<Entry>> {
    let Value::Array(entries) = list else {
        return Ok(Vec::new());
    };
    entries.into_iter().map(entry).collect()
}

fn entry(value: Value) -> anyhow::Result<Entry> {
    if let Value::Array(mut parts) = value
        && let (Some(Value::Array(mut fields)), Some(Value::BulkString(id))) = (parts.pop(), parts.pop())
        && let Some(Value::BulkString(payload)) = fields.pop()
    {
        return Ok((id, payload));
    }
    bail!("Redis answered with an entry of another form")
}
