//! Deliver: a group takes what is stored, frames are written, acks are read, and the floor moves durably.

use std::collections::VecDeque;

use anyhow::{bail, ensure};
use prom_engine::{Arrivals, Delivery, Position, Subscription, Ticket, ack_tickets};
use prom_protocol::frame::ack::Ack;
use prom_protocol::frame::event::{EventHead, LeaseTerms};
use prom_protocol::frame::{SubscriptionName, Which, ok};
use prom_protocol::{ClientFrame, Corr, Request};
use prom_types::{EventId, TopicName};

use crate::client::{PublishForm, SettleForm, acks, group_of, publishes};
use crate::connection::Connection;
use crate::publish::send;
use crate::scenario::TOGETHER;
use crate::scene::Scene;

/// Counts this many events, which are stored before. Joining the group and leaving it count with them.
pub async fn deliver(scene: &Scene, form: SettleForm, events: usize) -> anyhow::Result<()> {
    let mut connection = Connection::new();
    let warm_up = store(scene, &mut connection, &scene.warm_up, TOGETHER).await?;
    let reads = acks(&scene.warm_up, form, &warm_up);
    consume(scene, &mut connection, &scene.warm_up, form, &reads).await?;
    let ids = store(scene, &mut connection, &scene.topic, events).await?;
    let reads = acks(&scene.topic, form, &ids);
    scene.begin().await?;
    consume(scene, &mut connection, &scene.topic, form, &reads).await?;
    scene.end().await?;
    let cursors = scene.bus.cursor(&scene.topic, &group_of(&scene.topic)).await?;
    ensure!(cursors.iter().all(|cursor| cursor.offset as usize == events), "not all is settled: {cursors:?}");
    Ok(())
}

/// Publishes this many; returns their ids.
async fn store(
    scene: &Scene,
    connection: &mut Connection,
    topic: &TopicName,
    events: usize,
) -> anyhow::Result<Vec<EventId>> {
    let receipts = send(scene, connection, topic, &publishes(topic, PublishForm::Batch, events)?).await?;
    Ok(receipts.into_iter().map(|receipt| receipt.id).collect())
}

/// Joins, and takes and settles until the acks are used up, each read of them before more is taken.
async fn consume(
    scene: &Scene,
    connection: &mut Connection,
    topic: &TopicName,
    form: SettleForm,
    acks: &[Vec<u8>],
) -> anyhow::Result<()> {
    let name = SubscriptionName { topic: topic.to_string(), group: Some(group_of(topic)) };
    let subscribe = scene.bus.subscribe(topic, &group_of(topic)).from(Position::Earliest).batch_size(TOGETHER);
    let mut walk = Walk { head: EventHead::new(&name), form, leased: VecDeque::new() };
    let mut subscription = subscribe.start().await?;
    for bytes in acks {
        walk.take(&mut subscription, connection).await?;
        connection.read(bytes);
        walk.settle(connection).await?;
    }
    subscription.unsubscribe().await;
    Ok(())
}

struct Walk {
    head: EventHead,
    form: SettleForm,
    /// What was written and not settled, in the order of offsets. The hub has a table here, which is not counted.
    leased: VecDeque<(EventId, Ticket)>,
}

impl Walk {
    /// Takes as many as share an ack and writes them.
    async fn take(&mut self, subscription: &mut Subscription, connection: &mut Connection) -> anyhow::Result<()> {
        while self.leased.len() < TOGETHER {
            let Arrivals { deliveries, gaps, .. } = subscription.next_arrivals().await;
            ensure!(!deliveries.is_empty() && gaps.is_empty(), "the subscription ended or has gaps: {gaps:?}");
            self.write(&deliveries, connection);
            self.leased.extend(deliveries.iter().map(|delivery| (delivery.id(), delivery.ticket())));
        }
        connection.write();
        Ok(())
    }

    fn write(&self, deliveries: &[Delivery], connection: &mut Connection) {
        match self.form {
            SettleForm::Frames => {
                for delivery in deliveries {
                    let terms = terms(delivery);
                    connection.frame(|out| self.head.write(out, Some(terms), |out| delivery.write_json(out)));
                }
            }
            SettleForm::Batch => connection.frame(|out| {
                let mut many = self.head.begin_many(out);
                for delivery in deliveries {
                    many.event(Some(terms(delivery)), |out| delivery.write_json(out));
                }
                many.end();
            }),
        }
    }

    /// Reads the acks that came, waits until they are durable and answers each.
    async fn settle(&mut self, connection: &mut Connection) -> anyhow::Result<()> {
        let mut tickets = Vec::new();
        let mut corrs: Vec<Option<Corr>> = Vec::new();
        while let Some(text) = connection.next()? {
            let Request { corr, frame } = Request::read(&text).map_err(|refused| refused.error)?;
            match frame {
                ClientFrame::Ack(ack) => self.find(&ack, &mut tickets)?,
                other => bail!("not an ack: {other:?}"),
            }
            corrs.push(corr);
        }
        for result in ack_tickets(tickets).await {
            result?;
        }
        corrs.iter().for_each(|corr| connection.frame(|out| ok::write(out, corr.as_ref())));
        connection.write();
        Ok(())
    }

    fn find(&mut self, ack: &Ack<'_>, tickets: &mut Vec<Ticket>) -> anyhow::Result<()> {
        let named = match &ack.which {
            Which::Ids(ids) => ids.len(),
            Which::Offsets { ranges, .. } => ranges.iter().map(|(from, to)| (to - from + 1) as usize).sum(),
        };
        ensure!(named <= self.leased.len(), "more is acked than is leased");
        let first = self.leased.front().map(|(id, ticket)| (*id, ticket.offset()));
        let in_order = match (&ack.which, first) {
            (Which::Ids(ids), Some((id, _))) => ids.first() == Some(&id),
            (Which::Offsets { ranges, .. }, Some((_, offset))) => ranges.first().map(|range| range.0) == Some(offset),
            (_, None) => false,
        };
        ensure!(in_order, "acked in another order than leased");
        tickets.extend(self.leased.drain(..named).map(|(_, ticket)| ticket));
        Ok(())
    }
}

fn terms(delivery: &Delivery) -> LeaseTerms {
    LeaseTerms {
        attempt: delivery.attempt(),
        max_attempts: delivery.max_attempts(),
        ack_deadline_ms: u64::try_from(delivery.ack_deadline().as_millis()).unwrap_or(u64::MAX),
    }
}
