//! The floor of the protocol: one event and one ack a frame, over a bare socket. Nothing is faster on this side,
//! and nothing but a WebSocket library is needed to do it.
//!
//! Frames are written by `prom-protocol` once, and copied with another payload or another id in them.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, bail};
use async_trait::async_trait;
use bytes::Bytes;
use futures::FutureExt;
use prom_load::{ConsumeJob, PayloadLabel, PublishJob};
use prom_protocol::frame::ack::Ack;
use prom_protocol::frame::peek::{self, FrameKind};
use prom_protocol::frame::subscribe::{Subscribe, SubscribeOpts};
use prom_protocol::frame::{SubscriptionName, Which, publish};
use prom_types::{IdMaker, Json, NewEvent, Position, TopicName};

use super::HubContender;
use super::socket::{Reader, Writer, check_ok, connect};
use crate::load::contender::{Consumer, Publisher, Tail};
use crate::load::topics::Topics;

/// Events leased to a consumer at once.
const LEASED: usize = 4_000;

/// A frame around the part that changes.
struct FrameTemplate {
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl FrameTemplate {
    fn around(part: &[u8], frame: &[u8]) -> anyhow::Result<Self> {
        let at = frame.windows(part.len()).position(|window| window == part).context("the frame lacks its part")?;
        Ok(Self { head: frame[..at].to_vec(), tail: frame[at + part.len()..].to_vec() })
    }

    fn write(&self, out: &mut Vec<u8>, part: impl FnOnce(&mut Vec<u8>)) {
        out.extend_from_slice(&self.head);
        part(out);
        out.extend_from_slice(&self.tail);
    }

    fn publish(topic: &str) -> anyhow::Result<Self> {
        // No topic has a tilde in its name.
        let part = Bytes::from_static(b"\"~\"");
        let mut frame = Vec::new();
        publish::write(&mut frame, None, &NewEvent::new(TopicName::parse(topic)?, Json::parse(part.clone())?));
        Self::around(&part, &frame)
    }

    fn ack(topic: &str, group: &str) -> anyhow::Result<Self> {
        let id = IdMaker::new().make(0);
        let mut frame = Vec::new();
        Ack { topic: topic.into(), group: group.into(), which: Which::Ids([id].into()) }.write(&mut frame, None);
        Self::around(id.to_string().as_bytes(), &frame)
    }
}

pub struct PlainPublisher {
    reader: Reader,
    writer: Writer,
    /// One for each topic.
    frames: Vec<FrameTemplate>,
    unanswered: u64,
}

impl PlainPublisher {
    pub async fn connect(address: SocketAddr, topics: &Topics) -> anyhow::Result<Self> {
        let (reader, writer) = connect(address).await?;
        let frames = topics.names().map(|topic| FrameTemplate::publish(&topic)).collect::<Result<_, _>>()?;
        Ok(Self { reader, writer, frames, unanswered: 0 })
    }

    fn put(&mut self, job: &PublishJob, label: PayloadLabel) {
        let frame = &self.frames[job.topic_of(label.number)];
        self.writer.put(|out| frame.write(out, |out| job.payload().write(label, out)));
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
                self.put(&job, PayloadLabel::untimed(number));
            }
            self.writer.flush().await?;
            if self.unanswered == 0 {
                return Ok(());
            }
            job.acked(self.answers().await?);
        }
    }

    async fn send(&mut self, job: &PublishJob, label: PayloadLabel) -> anyhow::Result<()> {
        self.put(job, label);
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
    ack: FrameTemplate,
}

impl PlainConsumer {
    pub async fn connect(address: SocketAddr, topics: &Topics, hub: &HubContender) -> anyhow::Result<Self> {
        let (topic, HubContender { group, from, .. }) = (topics.pattern(), hub);
        let position = (*from).into();
        let opts = SubscribeOpts { position, max_in_flight: Some(LEASED), ..SubscribeOpts::default() };
        let name = SubscriptionName::new(topic.as_str(), Some(group));
        let (reader, writer) = subscribed(address, Subscribe { name, opts }).await?;
        Ok(Self { reader, writer, ack: FrameTemplate::ack(&topic, group)? })
    }
}

#[async_trait]
impl Consumer for PlainConsumer {
    async fn run(mut self: Box<Self>, job: Arc<ConsumeJob>) -> anyhow::Result<()> {
        let mut intake = job.intake();
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
                match peek::kind(&text) {
                    // What comes after the end is given back when the connection closes.
                    FrameKind::Event if is_over => {}
                    FrameKind::Event => {
                        let (id, payload) = event_in(&text, &job)?;
                        intake.arrived(payload)?;
                        self.writer.put(|out| self.ack.write(out, |out| out.extend_from_slice(id.as_bytes())));
                        unanswered += 1;
                    }
                    _ => {
                        check_ok(&text)?;
                        answered += 1;
                    }
                }
                next = self.reader.buffered()?;
            }
            unanswered -= answered;
            intake.settled(answered);
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
    pub async fn connect(address: SocketAddr, topics: &Topics, from: Position) -> anyhow::Result<Self> {
        let opts = SubscribeOpts { position: from.into(), ..SubscribeOpts::default() };
        let name = SubscriptionName::new(topics.pattern(), None);
        let (mut reader, writer) = subscribed(address, Subscribe { name, opts }).await?;
        if from == Position::Latest {
            reader.read_little();
        }
        Ok(Self { reader, _writer: writer })
    }
}

#[async_trait]
impl Tail for PlainTail {
    async fn run(mut self: Box<Self>, job: Arc<ConsumeJob>) -> anyhow::Result<()> {
        let mut intake = job.intake();
        while !intake.has_all() {
            let text = self.reader.next().await?;
            intake.arrived(event_in(&text, &job)?.1)?;
        }
        Ok(())
    }
}

/// A connection whose subscription was agreed to.
async fn subscribed(address: SocketAddr, subscribe: Subscribe) -> anyhow::Result<(Reader, Writer)> {
    let (mut reader, mut writer) = connect(address).await?;
    writer.put(|out| subscribe.write(out, None));
    writer.flush().await?;
    check_ok(&reader.next().await?)?;
    Ok((reader, writer))
}

/// The id and the payload of an EVENT.
fn event_in<'t>(text: &'t Bytes, job: &ConsumeJob) -> anyhow::Result<(&'t str, &'t [u8])> {
    if let Some(event) = peek::event(text)
        && let Some(payload) = event.payload_on.get(..job.payload_bytes())
    {
        return Ok((event.id, payload));
    }
    bail!("the hub sent {}", String::from_utf8_lossy(text));
}

#[cfg(test)]
mod tests {
    use prom_protocol::frame::Request;

    use super::*;

    #[test]
    fn frames_made_from_a_template_are_frames_of_the_protocol() {
        let mut publish = Vec::new();
        let payload = PublishJob::endless(256, 1).payload().make(PayloadLabel::untimed(7));
        FrameTemplate::publish("a.payload").unwrap().write(&mut publish, |out| out.extend_from_slice(&payload));
        let event = NewEvent::new(TopicName::parse("a.payload").unwrap(), Json::parse(payload).unwrap());
        let mut expected = Vec::new();
        prom_protocol::frame::publish::write(&mut expected, None, &event);
        assert_eq!(publish, expected);

        let mut ack = Vec::new();
        let id = "01890a5d-ac96-774b-bcce-b302099a8057";
        FrameTemplate::ack("a", "g").unwrap().write(&mut ack, |out| out.extend_from_slice(id.as_bytes()));
        assert!(Request::read(&ack.into()).is_ok());
    }
}
