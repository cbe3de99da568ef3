//! `async-nats` at its best: publishes with their ack futures in a window, a pull consumer that asks ahead.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use async_nats::Subject;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::context::{ContextBuilder, PublishAckFuture};
use async_nats::jetstream::{Context as JetStream, Message};
use async_trait::async_trait;
use prom_load::{ConsumeJob, PayloadLabel, PublishJob};

use crate::load::contender::{Consumer, Publisher};
use crate::load::topics::Topics;
use crate::peers::streams;

/// More than any window of ours, so that the client's own limit is never what is measured.
const ACKS_IN_FLIGHT: usize = 20_000;
/// A window of events that are synced one by one takes longer than the client's five seconds on a busy disk.
const PATIENCE: Duration = Duration::from_secs(60);
/// Messages asked for at once.
const PULLED: usize = 2_000;

pub struct NatsPublisher {
    jetstream: JetStream,
    subjects: Vec<Subject>,
    under_way: VecDeque<PublishAckFuture>,
}

impl NatsPublisher {
    pub fn new(client: async_nats::Client, topics: &Topics) -> Self {
        let jetstream = ContextBuilder::new()
            .max_ack_inflight(ACKS_IN_FLIGHT)
            .timeout(PATIENCE)
            .ack_timeout(PATIENCE)
            .build(client);
        Self { jetstream, subjects: topics.names().map(Subject::from).collect(), under_way: VecDeque::new() }
    }

    async fn put(&mut self, job: &PublishJob, label: PayloadLabel) -> anyhow::Result<()> {
        let subject = self.subjects[job.topic_of(label.number)].clone();
        let acked = self.jetstream.publish(subject, job.payload().make(label)).await?;
        self.under_way.push_back(acked);
        Ok(())
    }
}

#[async_trait]
impl Publisher for NatsPublisher {
    async fn run(mut self: Box<Self>, job: Arc<PublishJob>) -> anyhow::Result<()> {
        loop {
            while self.under_way.len() < job.in_flight
                && let Some(number) = job.take()
            {
                self.put(&job, PayloadLabel::untimed(number)).await?;
            }
            let Some(oldest) = self.under_way.pop_front() else {
                return Ok(());
            };
            oldest.await?;
            job.acked(1);
        }
    }

    async fn send(&mut self, job: &PublishJob, label: PayloadLabel) -> anyhow::Result<()> {
        self.put(job, label).await
    }

    async fn acknowledged(&mut self) -> anyhow::Result<()> {
        while let Some(oldest) = self.under_way.pop_front() {
            oldest.await?;
        }
        Ok(())
    }
}

pub struct NatsConsumer {
    pub client: async_nats::Client,
    pub consumer: PullConsumer,
}

#[async_trait]
impl Consumer for NatsConsumer {
    /// An ack is sent and not answered, as is usual with JetStream; at the end a flush makes sure that all were.
    async fn run(self: Box<Self>, job: Arc<ConsumeJob>) -> anyhow::Result<()> {
        let mut messages = self.consumer.stream().max_messages_per_batch(PULLED).messages().await?;
        let ack = async |message: Message| message.ack().await.map_err(|error| anyhow!("an ack failed: {error}"));
        streams::consume(&job, &mut messages, |message| &message.payload, ack).await?;
        self.client.flush().await?;
        Ok(())
    }
}
