//! `lapin` at its best: confirms in a window, a consumer with a large prefetch and an ack for each message.

use std::collections::VecDeque;
use std::sync::Arc;

use anyhow::ensure;
use async_trait::async_trait;
use futures::StreamExt;
use lapin::message::Delivery;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions, ConfirmSelectOptions,
};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{BasicProperties, Channel, Connection, PublisherConfirm};
use prom_load::{ConsumeJob, PayloadLabel, PublishJob};
use prom_types::Position;

use crate::load::contender::{Consumer, Publisher, Tail};
use crate::peers::streams::{self, StreamTail};

const PERSISTENT: u8 = 2;
/// A stream's acks are only credit: one for many.
const STREAM_ACK_EVERY: usize = 200;
/// A stream's reader is sent this many before it acks, and it acks often.
const STREAM_PREFETCH: u16 = 1_000;

pub struct RabbitPublisher {
    connection: Connection,
    channel: Channel,
    queues: Vec<ShortString>,
    under_way: VecDeque<PublisherConfirm>,
}

impl RabbitPublisher {
    pub async fn new(connection: Connection, queues: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let queues = queues.map(ShortString::from).collect();
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
        let ack = async |message: Delivery| Ok(message.ack(BasicAckOptions { multiple: false }).await.map(drop)?);
        streams::consume(&job, &mut messages, |message| &message.data, ack).await?;
        // Closing is answered after everything that was sent before.
        self.connection.close(200, "done".into()).await?;
        Ok(())
    }
}

/// What a stream holds, from its first message or from its next.
pub async fn tail(connection: Arc<Connection>, queue: &str, from: Position) -> anyhow::Result<Box<dyn Tail>> {
    let channel = connection.create_channel().await?;
    channel.basic_qos(STREAM_PREFETCH, BasicQosOptions::default()).await?;
    let offset = match from {
        Position::Latest => "next",
        _ => "first",
    };
    let mut arguments = FieldTable::default();
    arguments.insert("x-stream-offset".into(), AMQPValue::LongString(offset.into()));
    let messages = channel.basic_consume(queue.into(), "".into(), BasicConsumeOptions::default(), arguments).await?;
    let payloads = messages.enumerate().then(|(number, message)| async move {
        let message = message?;
        if (number + 1).is_multiple_of(STREAM_ACK_EVERY) {
            message.ack(BasicAckOptions { multiple: true }).await?;
        }
        Ok(message.data)
    });
    Ok(Box::new(StreamTail { payloads, _connection: connection }))
}
