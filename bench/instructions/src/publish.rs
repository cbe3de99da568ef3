//! Publish: bytes of a client, decoded, read, gathered, committed, answered.

use anyhow::{bail, ensure};
use prom_engine::UnitOfWork;
use prom_protocol::frame::ok::{self, BatchReceipt};
use prom_protocol::frame::publish::Publish;
use prom_protocol::{ClientFrame, Corr, Request};
use prom_types::{Durability, EventId, Receipt, TopicName};

use crate::client::{PublishForm, publishes};
use crate::connection::Connection;
use crate::scenario::TOGETHER;
use crate::scene::Scene;

/// What a frame is told once its events are durable.
struct Slot {
    corr: Option<Corr>,
    answer: Answer,
}

enum Answer {
    Receipt,
    /// With the ids that the publisher gave.
    Results(Vec<Option<EventId>>),
}

/// Counts this many events.
pub async fn publish(scene: &Scene, form: PublishForm, events: usize) -> anyhow::Result<()> {
    let mut connection = Connection::new();
    for topic in [&scene.warm_up, &scene.topic] {
        let first = publishes(topic, PublishForm::Frames, TOGETHER)?;
        send(scene, &mut connection, topic, &first).await?;
    }
    let reads = publishes(&scene.topic, form, events)?;
    scene.begin().await?;
    let stored = send(scene, &mut connection, &scene.topic, &reads).await?;
    scene.end().await?;
    ensure!(stored.len() == events, "{} of {events} events were stored", stored.len());
    ensure!(stored.last().is_some_and(|last| last.offset as usize == TOGETHER + events - 1), "something came twice");
    Ok(())
}

/// Publishes what is in these reads, each answered before the next; gives all receipts.
pub async fn send(
    scene: &Scene,
    connection: &mut Connection,
    topic: &TopicName,
    reads: &[Vec<u8>],
) -> anyhow::Result<Vec<Receipt>> {
    let mut stored = Vec::new();
    for bytes in reads {
        connection.read(bytes);
        let mut work = scene.bus.unit_of_work();
        let mut slots = Vec::new();
        while let Some(text) = connection.next()? {
            let Request { corr, frame } = Request::read(&text).map_err(|refused| refused.error)?;
            let answer = gather(&mut work, topic, frame)?;
            slots.push(Slot { corr, answer });
        }
        let receipts = work.commit_each().await?;
        answer(connection, slots, &receipts);
        connection.write();
        stored.extend(receipts);
    }
    Ok(stored)
}

fn gather(work: &mut UnitOfWork, topic: &TopicName, frame: ClientFrame<'_>) -> anyhow::Result<Answer> {
    let mut add = |event: Publish<'_>| {
        ensure!(event.topic == **topic, "a frame of another topic");
        Ok(work.publish(&event.into_event(topic.clone()))?)
    };
    match frame {
        ClientFrame::Publish(event) => {
            add(event)?;
            Ok(Answer::Receipt)
        }
        ClientFrame::PublishBatch(batch) => {
            let mut given = Vec::with_capacity(batch.events.len());
            for event in batch.events {
                let event = event?;
                given.push(event.opts.id);
                add(event)?;
            }
            Ok(Answer::Results(given))
        }
        other => bail!("not a publish: {other:?}"),
    }
}

fn answer(connection: &mut Connection, slots: Vec<Slot>, receipts: &[Receipt]) {
    let mut receipts = receipts.iter();
    for Slot { corr, answer } in slots {
        match answer {
            Answer::Receipt => {
                if let Some(receipt) = receipts.next() {
                    connection.frame(|out| ok::write_receipt(out, corr.as_ref(), receipt));
                }
            }
            Answer::Results(given) => {
                let durability = receipts.as_slice().first().map_or(Durability::Os, |receipt| receipt.durability);
                let placed = given.into_iter().zip(receipts.by_ref());
                let placed = placed.map(|(given, receipt)| Ok(BatchReceipt::of(receipt, given)));
                connection.frame(|out| ok::write_results(out, corr.as_ref(), durability, placed));
            }
        }
    }
}
