//! `lapin` at its best: confirms in a window, a consumer with a large prefetch and an ack for each message.

use std::collections::VecDeque;
use std::sync::Arc;

use anyhow::{Context, ensure};
use async_trait::async_trait;
use futures::StreamExt;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{BasicProperties, Channel, Connection, PublisherConfirm};
use prom_load::{ConsumeJob, PayloadLabel, PublishJob};
use prom_types::Position;

use crate::load::contender::{Consumer, Publisher, Tail};

const PERSISTENT: u8 = 2;
/// A stream's acks are only credit: one for many.
const STREAM_ACK_EVERY: u64 = 200;

pub struct RabbitPublisher {
    connection: Connection,
    channel: Channel,
    queues: Vec<ShortString>,
    under_way: VecDeque<PublisherConfirm>,
}

impl RabbitPublisher {
    pub async fn new(connection: Connection, queues: Vec<String>) -> anyhow::Result<Self> {
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let queues = queues.into_iter().map(ShortString::from).collect();
        Ok(Self { connection, channel, queues, under_way: VecDeque::new() })
    }

    async fn put(&mut self, job: &PublishJob, label: PayloadLabel) -> anyhow::Result<()> {
        let queue = self.queues[job.topic_of(label.number)].clone();
        let properties = BasicProperties::default().with_delivery_mode(PERSISTENT);
        let payload = job.payload().make(label);
        let options = BasicPublishOptions::default();
        let confirm = self.channel.basic_publish("".into(), queue, options, &payload, properties).await?;
        self.under_way.push_back(confirm);
        Ok(())
    }

    async fn confirmed(&mut self) -> anyhow::Result<Option<()>> {
        let Some(oldest) = self.under_way.pop_front() else {
            return Ok(None);
        };
        ensure!(oldest.await?.is_ack(), "RabbitMQ did not take a message");
        Ok(Some(()))
    }
}

#[async_trait]
impl Publisher for RabbitPublisher {
    async fn run(mut self: Box<Self>, job: Arc<PublishJob>) -> anyhow::Result<()> {
        loop {
            while self.under_way.len() < job.in_flight
                && let Some(number) = job.take()
            {
                self.put(&job, PayloadLabel::untimed(number)).await?;
            }
            if self.confirmed().await?.is_none() {
                self.connection.close(200, "done".into()).await?;
                return Ok(());
            }
            job.acked(1);
        }
    }

    async fn send(&mut self, job: &PublishJob, label: PayloadLabel) -> anyhow::Result<()> {
        self.put(job, label).await
    }

    async fn acknowledged(&mut self) -> anyhow::Result<()> {
        while self.confirmed().await?.is_some() {}
        Ok(())
    }
}

pub struct RabbitConsumer {
    pub connection: Connection,
    pub channel: Channel,
    pub queue: String,
}

#[async_trait]
impl Consumer for RabbitConsumer {
    async fn run(self: Box<Self>, job: Arc<ConsumeJob>) -> anyhow::Result<()> {
        let (queue, options) = (self.queue.as_str().into(), BasicConsumeOptions::default());
        let mut messages = self.channel.basic_consume(queue, "".into(), options, FieldTable::default()).await?;
        let mut intake = job.intake();
        let over = job.over();
        tokio::pin!(over);
        while !job.is_over() {
            let message = tokio::select! {
                biased;
                message = messages.next() => message.context("the consumer has ended")??,
                _ = &mut over => break,
            };
            intake.arrived(&message.data)?;
            message.ack(BasicAckOptions { multiple: false }).await?;
            intake.settled(1);
        }
        // Closing is answered after everything that was sent before.
        self.connection.close(200, "done".into()).await?;
        Ok(())
    }
}

pub struct RabbitTail {
    messages: lapin::Consumer,
    _connection: Arc<Connection>,
}

impl RabbitTail {
    pub async fn start(
        channel: Channel,
        connection: Arc<Connection>,
        queue: &str,
        from: Position,
    ) -> anyhow::Result<Self> {
        let offset = match from {
            Position::Latest => "next",
            _ => "first",
        };
        let mut arguments = FieldTable::default();
        arguments.insert("x-stream-offset".into(), AMQPValue::LongString(offset.into()));
        let messages =
            channel.basic_consume(queue.into(), "".into(), BasicConsumeOptions::default(), arguments).await?;
        Ok(Self { messages, _connection: connection })
    }
}

#[async_trait]
impl Tail for RabbitTail {
    async fn run(mut self: Box<Self>, job: Arc<ConsumeJob>) -> anyhow::Result<()> {
        let (mut intake, mut since_ack) = (job.intake(), 0);
        while !intake.has_all() {
            let message = self.messages.next().await.context("the consumer has ended")??;
            intake.arrived(&message.data)?;
            since_ack += 1;
            if since_ack == STREAM_ACK_EVERY {
                message.ack(BasicAckOptions { multiple: true }).await?;
                since_ack = 0;
            }
        }
        Ok(())
    }
}
