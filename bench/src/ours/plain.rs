//! The floor of the protocol: one event and one ack a frame, read and written by hand. Nothing is faster on this side,
//! and nothing but a WebSocket library is needed to do it.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use async_trait::async_trait;
use bytes::Bytes;
use futures::FutureExt;
use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::subscribe::{From as Position, Subscribe, SubscribeOpts};

use super::server::Membership;
use crate::hub::socket::{Reader, Writer, connect};
use crate::load::consume_job::ConsumeJob;
use crate::load::contender::{Consumer, From, Publisher, Tail};
use crate::load::publish_job::PublishJob;
use crate::load::tail_job::{TailJob, Tally};
use crate::load::topics::Topics;

/// Events lent to a consumer at once.
const LENT: usize = 4_000;
const ID_BYTES: usize = 36;

pub struct PlainPublisher {
    reader: Reader,
    writer: Writer,
    /// Of each topic, the frame up to the payload.
    heads: Vec<Vec<u8>>,
    unanswered: u64,
}

impl PlainPublisher {
    pub async fn connect(address: SocketAddr, topics: &Topics) -> anyhow::Result<Self> {
        let (reader, writer) = connect(address, &[]).await?;
        let head = |topic: String| format!("{{\"op\":\"PUBLISH\",\"topic\":\"{topic}\",\"payload\":").into_bytes();
        Ok(Self { reader, writer, heads: topics.names().map(head).collect(), unanswered: 0 })
    }

    fn put(&mut self, job: &PublishJob, number: u64) {
        let head = &self.heads[job.topic_of(number)];
        self.writer.put(|out| {
            out.extend_from_slice(head);
            job.payload.write(number, out);
            out.push(b'}');
        });
        self.unanswered += 1;
    }

    /// Waits for one answer and takes all that came with it; how many there were.
    async fn answers(&mut self) -> anyhow::Result<u64> {
        let (mut answer, mut count) = (Some(self.reader.next().await?), 0);
        while let Some(text) = answer {
            check_ok(&text)?;
            count += 1;
            answer = self.reader.buffered()?;
        }
        self.unanswered -= count;
        Ok(count)
    }
}

#[async_trait]
impl Publisher for PlainPublisher {
    async fn run(mut self: Box<Self>, job: Arc<PublishJob>) -> anyhow::Result<()> {
        loop {
            while self.unanswered < job.in_flight as u64
                && let Some(number) = job.take()
            {
                self.put(&job, number);
            }
            self.writer.flush().await?;
            if self.unanswered == 0 {
                return Ok(());
            }
            job.acked(self.answers().await?);
        }
    }

    async fn send(&mut self, job: &PublishJob, number: u64) -> anyhow::Result<()> {
        self.put(job, number);
        self.writer.flush().await?;
        // Answers that are there are taken, or they would fill the socket in the end.
        while self.unanswered > 0
            && let Some(count) = self.answers().now_or_never()
        {
            count?;
        }
        Ok(())
    }

    async fn acknowledged(&mut self) -> anyhow::Result<()> {
        while self.unanswered > 0 {
            self.answers().await?;
        }
        Ok(())
    }
}

pub struct PlainConsumer {
    reader: Reader,
    writer: Writer,
    ack_head: Vec<u8>,
}

impl PlainConsumer {
    pub async fn connect(address: SocketAddr, topics: &Topics, membership: &Membership) -> anyhow::Result<Self> {
        let (topic, Membership { group, from }) = (topics.pattern(), membership);
        let from = Some(position(*from));
        let opts = SubscribeOpts { from, max_in_flight: Some(LENT), ..SubscribeOpts::default() };
        let name = SubscriptionName::new(topic.as_str(), Some(group));
        let (reader, writer) = subscribed(address, Subscribe { name, opts }).await?;
        let ack_head = format!("{{\"op\":\"ACK\",\"topic\":\"{topic}\",\"group\":\"{group}\",\"id\":\"").into_bytes();
        Ok(Self { reader, writer, ack_head })
    }

    fn put_ack(&mut self, id: &[u8]) {
        let head = &self.ack_head;
        self.writer.put(|out| {
            out.extend_from_slice(head);
            out.extend_from_slice(id);
            out.extend_from_slice(b"\"}");
        });
    }
}

#[async_trait]
impl Consumer for PlainConsumer {
    async fn run(mut self: Box<Self>, job: Arc<ConsumeJob>) -> anyhow::Result<()> {
        let mut unanswered = 0_u64;
        let over = job.over();
        tokio::pin!(over);
        let mut is_over = false;
        while !is_over || unanswered > 0 {
            let first = tokio::select! {
                biased;
                text = self.reader.next() => text?,
                _ = &mut over, if !is_over => {
                    is_over = true;
                    continue;
                }
            };
            let (mut next, mut answered) = (Some(first), 0);
            while let Some(text) = next {
                match event_in(&text) {
                    // What comes after the end is given back when the connection closes.
                    Some(_) if is_over => {}
                    Some(event) => {
                        job.arrived(event.payload)?;
                        self.put_ack(event.id);
                        unanswered += 1;
                    }
                    None => {
                        check_ok(&text)?;
                        answered += 1;
                    }
                }
                next = self.reader.buffered()?;
            }
            unanswered -= answered;
            job.settled(answered);
            self.writer.flush().await?;
        }
        Ok(())
    }
}

pub struct PlainTail {
    reader: Reader,
    /// Dropping it would close the connection.
    _writer: Writer,
}

impl PlainTail {
    pub async fn connect(address: SocketAddr, topics: &Topics, from: From) -> anyhow::Result<Self> {
        let opts = SubscribeOpts { from: Some(position(from)), ..SubscribeOpts::default() };
        let name = SubscriptionName::new(topics.pattern(), None);
        let (mut reader, writer) = subscribed(address, Subscribe { name, opts }).await?;
        if from == From::Latest {
            reader.read_little();
        }
        Ok(Self { reader, _writer: writer })
    }
}

#[async_trait]
impl Tail for PlainTail {
    async fn run(mut self: Box<Self>, job: Arc<TailJob>) -> anyhow::Result<()> {
        let mut tally = Tally::default();
        while !job.is_done(&tally) {
            let text = self.reader.next().await?;
            let event = event_in(&text).with_context(|| String::from_utf8_lossy(&text).into_owned())?;
            job.arrived(&mut tally, event.payload)?;
        }
        job.finish(&tally)
    }
}

fn position(from: From) -> Position {
    match from {
        From::Earliest => Position::Earliest,
        From::Latest => Position::Latest,
    }
}

/// A connection whose subscription was agreed to.
async fn subscribed(address: SocketAddr, subscribe: Subscribe) -> anyhow::Result<(Reader, Writer)> {
    let (mut reader, mut writer) = connect(address, &[]).await?;
    writer.put(|out| subscribe.write(out, None));
    writer.flush().await?;
    check_ok(&reader.next().await?)?;
    Ok((reader, writer))
}

struct PlainEvent<'t> {
    id: &'t [u8],
    payload: &'t [u8],
}

/// The id stands first in an event; the payload is found by its own beginning.
fn event_in(text: &Bytes) -> Option<PlainEvent<'_>> {
    const EVENT: &[u8] = b"\"event\":{\"id\":\"";
    const PAYLOAD: &[u8] = b"\"payload\":";
    text.strip_prefix(b"{\"op\":\"EVENT\"")?;
    let event = after(text, EVENT)?;
    let id = event.get(..ID_BYTES)?;
    Some(PlainEvent { id, payload: after(&event[ID_BYTES..], PAYLOAD)? })
}

fn after<'t>(text: &'t [u8], marker: &[u8]) -> Option<&'t [u8]> {
    let at = text.windows(marker.len()).position(|window| window == marker)?;
    Some(&text[at + marker.len()..])
}

fn check_ok(text: &Bytes) -> anyhow::Result<()> {
    if text.starts_with(b"{\"op\":\"OK\"") {
        return Ok(());
    }
    ensure!(!text.starts_with(b"{\"op\":\"GAP\""), "events are gone: {}", String::from_utf8_lossy(text));
    bail!("the hub said {}", String::from_utf8_lossy(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_and_payload_are_found_in_an_event() {
        let id = "0192f0c1-2345-7abc-8def-0123456789ab";
        let text = format!(
            "{{\"op\":\"EVENT\",\"topic\":\"a\",\"group\":\"g\",\"event\":{{\"id\":\"{id}\",\"ts\":1,\"payload\":{{\"n\":7}}}}}}"
        );
        let text = Bytes::from(text);
        let event = event_in(&text).unwrap();
        assert_eq!(event.id, id.as_bytes());
        assert!(event.payload.starts_with(b"{\"n\":7}"));
        assert!(event_in(&Bytes::from_static(b"{\"op\":\"OK\"}")).is_none());
    }

    #[test]
    fn whatever_is_not_ok_fails_the_measurement() {
        assert!(check_ok(&Bytes::from_static(b"{\"op\":\"OK\",\"corr\":1}")).is_ok());
        assert!(check_ok(&Bytes::from_static(b"{\"op\":\"ERR\",\"code\":\"overloaded\"}")).is_err());
    }
}
