//! Our Rust client, with the loops that `prom bench` uses.

use std::collections::VecDeque;
use std::sync::Arc;

use anyhow::ensure;
use async_trait::async_trait;
use prom_client::{Client, Position, Publishing, TopicName};
use prom_load::client::{self, ConsumeWindow};
use prom_load::{ConsumeJob, PayloadLabel, PublishJob};

use super::HubContender;
use crate::load::contender::{Consumer, Publisher, Tail};
use crate::load::topics::Topics;

const WINDOW: ConsumeWindow = ConsumeWindow { in_flight: 4_000, batch: 1_000 };

pub struct ClientPublisher {
    client: Client,
    topics: Vec<TopicName>,
    under_way: VecDeque<Publishing>,
}

impl ClientPublisher {
    pub fn new(client: Client, topics: &Topics) -> anyhow::Result<Self> {
        let topics = topics.names().map(|name| TopicName::parse(&name)).collect::<Result<_, _>>()?;
        Ok(Self { client, topics, under_way: VecDeque::new() })
    }
}

#[async_trait]
impl Publisher for ClientPublisher {
    async fn run(mut self: Box<Self>, job: Arc<PublishJob>) -> anyhow::Result<()> {
        client::publish(&self.client, &self.topics, &job).await;
        self.client.close().await;
        let failures = job.failures().list();
        ensure!(failures.is_empty(), "events were not stored: {failures:?}");
        Ok(())
    }

    async fn send(&mut self, job: &PublishJob, label: PayloadLabel) -> anyhow::Result<()> {
        self.under_way.push_back(self.client.publish_event(client::event(&self.topics, job, label)));
        Ok(())
    }

    async fn acknowledged(&mut self) -> anyhow::Result<()> {
        while let Some(oldest) = self.under_way.pop_front() {
            oldest.await?;
        }
        Ok(())
    }
}

pub struct ClientConsumer {
    client: Client,
    topic: String,
    group: String,
}

impl ClientConsumer {
    /// The group is made here, so that it is there before the first event of a measurement is.
    pub async fn start(client: Client, topics: &Topics, hub: &HubContender) -> anyhow::Result<Self> {
        let (topic, group) = (topics.pattern(), hub.group.clone());
        let subscribe = client.subscribe(&topic, &group).from(hub.from);
        subscribe.start().await?.unsubscribe().await?;
        Ok(Self { client, topic, group })
    }
}

#[async_trait]
impl Consumer for ClientConsumer {
    async fn run(self: Box<Self>, job: Arc<ConsumeJob>) -> anyhow::Result<()> {
        let subscribe = self.client.subscribe(&self.topic, &self.group);
        let mut subscription = subscribe.batch_size(WINDOW.batch).max_in_flight(WINDOW.in_flight).start().await?;
        client::consume(&mut subscription, WINDOW, &job).await;
        ensure!(job.is_over(), "the subscription has ended: {:?}", job.failures().list());
        subscription.unsubscribe().await?;
        self.client.close().await;
        Ok(())
    }
}

pub struct ClientTail {
    client: Client,
    tail: prom_client::Tail,
}

impl ClientTail {
    pub async fn start(client: Client, topics: &Topics, from: Position) -> anyhow::Result<Self> {
        let tail = client.tail(&topics.pattern()).from(from).start().await?;
        Ok(Self { client, tail })
    }
}

#[async_trait]
impl Tail for ClientTail {
    async fn run(mut self: Box<Self>, job: Arc<ConsumeJob>) -> anyhow::Result<()> {
        client::tail(&mut self.tail, &job).await;
        drop(self.tail);
        self.client.close().await;
        Ok(())
    }
}
