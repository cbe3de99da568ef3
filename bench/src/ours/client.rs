//! Our Rust client, used as its guide says: publishes under way in a window, a handler for deliveries, a tail.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use prom_client::{Client, Delivery, Json, NewEvent, Position, Publishing, TopicName};

use super::server::Membership;
use crate::load::consume_job::ConsumeJob;
use crate::load::contender::{Consumer, From, Publisher, Tail};
use crate::load::publish_job::PublishJob;
use crate::load::tail_job::{TailJob, Tally};
use crate::load::topics::Topics;

/// Events lent to a consumer at once.
const LENT: usize = 4_000;
const BATCH: usize = 1_000;

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

    fn put(&mut self, job: &PublishJob, number: u64) {
        let topic = self.topics[job.topic_of(number)].clone();
        let event = NewEvent::new(topic, Json::trusted(job.payload_of(number)));
        self.under_way.push_back(self.client.publish_event(event));
    }
}

#[async_trait]
impl Publisher for ClientPublisher {
    async fn run(mut self: Box<Self>, job: Arc<PublishJob>) -> anyhow::Result<()> {
        loop {
            while self.under_way.len() < job.in_flight
                && let Some(number) = job.take()
            {
                self.put(&job, number);
            }
            let Some(oldest) = self.under_way.pop_front() else {
                self.client.close().await;
                return Ok(());
            };
            oldest.await?;
            job.acked(1);
        }
    }

    async fn send(&mut self, job: &PublishJob, number: u64) -> anyhow::Result<()> {
        self.put(job, number);
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
    pub async fn start(client: Client, topics: &Topics, membership: &Membership) -> anyhow::Result<Self> {
        let (topic, group) = (topics.pattern(), membership.group.clone());
        let subscribe = client.subscribe(&topic, &group).from(position(membership.from));
        subscribe.start().await?.unsubscribe().await?;
        Ok(Self { client, topic, group })
    }
}

#[async_trait]
impl Consumer for ClientConsumer {
    async fn run(self: Box<Self>, job: Arc<ConsumeJob>) -> anyhow::Result<()> {
        let handle = |delivery: Delivery| {
            match job.arrived(delivery.json().as_bytes()) {
                Ok(()) => job.settled(1),
                Err(wrong) => job.fail(wrong),
            }
            std::future::ready(Ok::<(), Infallible>(()))
        };
        let run = self.client.subscribe(&self.topic, &self.group).batch_size(BATCH).max_in_flight(LENT).run(handle);
        let end = async {
            job.over().await;
            self.client.unsubscribe(&self.topic, &self.group).await
        };
        let (ran, ended) = tokio::join!(run, end);
        ran?;
        ended?;
        // Closing waits until the acks are answered.
        self.client.close().await;
        Ok(())
    }
}

fn position(from: From) -> Position {
    match from {
        From::Earliest => Position::Earliest,
        From::Latest => Position::Latest,
    }
}

pub struct ClientTail {
    client: Client,
    tail: prom_client::Tail,
}

impl ClientTail {
    pub async fn start(client: Client, topics: &Topics, from: From) -> anyhow::Result<Self> {
        let tail = client.tail(&topics.pattern()).from(position(from)).start().await?;
        Ok(Self { client, tail })
    }
}

#[async_trait]
impl Tail for ClientTail {
    async fn run(mut self: Box<Self>, job: Arc<TailJob>) -> anyhow::Result<()> {
        let mut tally = Tally::default();
        while !job.is_done(&tally) {
            let event = self.tail.next().await.context("the tail has ended")?;
            job.arrived(&mut tally, event.json().as_bytes())?;
        }
        job.finish(&tally)?;
        drop(self.tail);
        self.client.close().await;
        Ok(())
    }
}
