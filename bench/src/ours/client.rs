//! Our Rust client, used as its guide says for many events: publishes under way in a window, deliveries taken and
//! acknowledged in batches, a tail.

use std::collections::VecDeque;
use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use futures::FutureExt;
use futures::stream::{FuturesUnordered, StreamExt};
use prom_client::{Batch, Client, Json, NewEvent, Position, Publishing, TopicName};

use super::server::Membership;
use crate::load::consume_job::ConsumeJob;
use crate::load::contender::{Consumer, From, Publisher, Tail};
use crate::load::publish_job::PublishJob;
use crate::load::tail_job::{TailJob, Tally};
use crate::load::topics::Topics;

/// Events lent to a consumer at once.
const LENT: usize = 4_000;
const BATCH: usize = 1_000;
/// Batches of acks that are not answered yet, beyond which none is taken.
const ACKS_UNDER_WAY: usize = 8;

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
        let subscribe = self.client.subscribe(&self.topic, &self.group).batch_size(BATCH).max_in_flight(LENT);
        let mut subscription = subscribe.start().await?;
        let mut acks = FuturesUnordered::new();
        let over = job.over();
        tokio::pin!(over);
        loop {
            tokio::select! {
                biased;
                _ = &mut over => break,
                Some((events, answer)) = acks.next() => {
                    answer?;
                    job.settled(events);
                }
                batch = subscription.next_batch(BATCH), if acks.len() < ACKS_UNDER_WAY => {
                    let batch = batch.context("the subscription has ended")?;
                    look_at(&batch, &job);
                    let events = batch.len() as u64;
                    acks.push(batch.ack().map(move |answer| (events, answer)));
                }
            }
        }
        while let Some((_, answer)) = acks.next().await {
            answer?;
        }
        subscription.unsubscribe().await?;
        self.client.close().await;
        Ok(())
    }
}

fn look_at(batch: &Batch, job: &ConsumeJob) {
    for event in batch.events() {
        if let Err(wrong) = job.arrived(event.json().as_bytes()) {
            job.fail(wrong);
        }
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
