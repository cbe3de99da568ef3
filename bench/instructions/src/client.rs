//! The client's side: the bytes that it sends, made before counting begins.

use anyhow::Context;
use prom_protocol::Corr;
use prom_protocol::frame::ack::Ack;
use prom_protocol::frame::{Which, publish};
use prom_protocol::websocket::{Role, encode};
use prom_types::{EventId, Json, NewEvent, Offset, TopicName};

use crate::scenario::TOGETHER;

/// How events are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PublishForm {
    /// One event in a frame, one frame in a read.
    Alone,
    /// One event in a frame, many frames in a read: a plain client that does not wait.
    Frames,
    /// Many events in a frame, with ids: a client that coalesces.
    Batch,
}

/// How events are delivered and settled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SettleForm {
    /// One EVENT and one ACK by id for each.
    Frames,
    /// EVENTS of many, one ACK of a range of offsets.
    Batch,
}

/// The payload of every scenario.
const PAYLOAD_BYTES: usize = 256;
const MASK: [u8; 4] = [0x5a, 0x17, 0xc3, 0x88];

/// The group that consumes a topic: it belongs to what it subscribed to first.
pub fn group_of(topic: &TopicName) -> String {
    format!("billing.{topic}")
}

/// The bytes of each read.
pub fn publishes(topic: &TopicName, form: PublishForm, events: usize) -> anyhow::Result<Vec<Vec<u8>>> {
    let payload = payload()?;
    let event = |number: usize| {
        let mut event = NewEvent::new(topic.clone(), payload.clone());
        event.id = (form == PublishForm::Batch).then(|| id(topic, number));
        event
    };
    let frame = |out: &mut Vec<u8>, number: usize| {
        masked(out, |out| publish::write(out, Some(&corr(number)), &event(number)));
    };
    let numbers: Vec<usize> = (0..events).collect();
    let bytes_of = |numbers: &[usize]| {
        let mut out = Vec::new();
        match form {
            PublishForm::Alone | PublishForm::Frames => numbers.iter().for_each(|number| frame(&mut out, *number)),
            PublishForm::Batch => {
                let events: Vec<NewEvent> = numbers.iter().map(|number| event(*number)).collect();
                masked(&mut out, |out| publish::write_batch(out, Some(&corr(numbers[0])), events.iter()));
            }
        }
        out
    };
    let together = if form == PublishForm::Alone { 1 } else { TOGETHER };
    Ok(numbers.chunks(together).map(bytes_of).collect())
}

/// The bytes of each read that settles [`TOGETHER`] events, which have these ids and offsets from 0 on.
pub fn acks(topic: &TopicName, form: SettleForm, ids: &[EventId]) -> Vec<Vec<u8>> {
    let group = group_of(topic);
    let ack = |out: &mut Vec<u8>, number: usize, which: Which| {
        let ack = Ack { topic: (&**topic).into(), group: group.as_str().into(), which };
        masked(out, |out| ack.write(out, Some(&corr(number))));
    };
    let bytes_of = |(read, ids): (usize, &[EventId])| {
        let first = read * TOGETHER;
        let mut out = Vec::new();
        match form {
            SettleForm::Frames => {
                let numbered = ids.iter().zip(first..);
                numbered.for_each(|(id, number)| ack(&mut out, number, Which::Ids([*id].into_iter().collect())));
            }
            SettleForm::Batch => {
                let range = (first as Offset, (first + ids.len() - 1) as Offset);
                ack(&mut out, first, Which::Offsets { partition: 0, ranges: vec![range] });
            }
        }
        out
    };
    ids.chunks(TOGETHER).enumerate().map(bytes_of).collect()
}

/// A small document, and one long text to fill it up.
fn payload() -> anyhow::Result<Json> {
    let head = r#"{"order":184467,"customer":"c-20817","amount":129.90,"currency":"EUR","note":""#;
    let fill = PAYLOAD_BYTES - head.len() - 2;
    let note: String = "lorem ipsum dolor sit amet ".chars().cycle().take(fill).collect();
    Json::parse(format!("{head}{note}\"}}")).context("the payload")
}

/// The same in every run, and of version 7 as real clients make them.
fn id(topic: &TopicName, number: usize) -> EventId {
    let mut bytes = *EventId::derived(&format!("{topic} {number}")).as_bytes();
    bytes[..6].copy_from_slice(&[0x01, 0x97, 0x74, 0x20, 0xdc, 0x00]);
    bytes[6] = 0x70 | bytes[6] & 0x0f;
    EventId::from_bytes(bytes)
}

fn corr(number: usize) -> Corr {
    Corr::number(number as u64)
}

fn masked(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let begun = encode::begin(out);
    write(out);
    encode::finish(out, begun, Role::Client, MASK);
}
