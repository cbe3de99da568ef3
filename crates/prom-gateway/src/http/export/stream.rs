//! The task that reads ahead of the client, and the stream that the client's pace pulls from.
//!
//! ```text
//!   store ─read─▶ records ─write─▶ chunk ─▶ bounded queue ─▶ socket
//! ```
//!
//! The next page is read while the chunk before it is on its way. When the client goes, the queue
//! closes and the task ends.

use std::sync::Arc;

use bytes::Bytes;
use futures::Stream;
use prom_auth::AuthError;
use prom_engine::{Page, TaskName};
use prom_store::ReadLimit;
use prom_types::TopicName;
use tokio::sync::mpsc;

use super::Part;
use super::choice::ExportChoice;
use super::format::{Before, ExportFormat};
use crate::Hub;
use crate::http::budget::BodyShare;
use crate::http::caller::Caller;
use crate::http::limits::{EXPORT_CHUNK_BYTES, EXPORT_CHUNKS_WAITING, EXPORT_READ_BYTES, EXPORT_READ_EVENTS};

/// What to do where events cannot be read any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnDamage {
    BreakOff,
    Skip,
}

/// Why an export broke off. The client only sees that it did; the log says why.
#[derive(Debug, thiserror::Error)]
#[error("the export broke off: {0}")]
pub(super) struct BrokenOff(String);

type Chunk = Result<Bytes, BrokenOff>;

pub(super) fn start(
    hub: Arc<Hub>,
    caller: Caller,
    topic: TopicName,
    choice: ExportChoice,
    parts: Vec<Part>,
    (format, damage): (ExportFormat, OnDamage),
    share: BodyShare,
) -> impl Stream<Item = Chunk> + use<> {
    let (chunks, waiting) = mpsc::channel(EXPORT_CHUNKS_WAITING);
    tokio::spawn(async move {
        let _held_to_the_end = share;
        let mut export =
            Export { hub, caller, topic, choice, format, damage, chunks, chunk: new_chunk(), before: Before::Nothing };
        let failures = export.hub.failures().clone();
        let ran = failures.watch(&TaskName::one("export", export.topic.clone()), export.run(parts)).await;
        let reason = match ran.unwrap_or_else(|panicked| Err(Ended::Failed(panicked.reason))) {
            Ok(()) | Err(Ended::ClientLeft) => return,
            Err(Ended::Refused(expired)) => {
                tracing::info!(%expired, "an export broke off");
                expired.to_string()
            }
            Err(Ended::Failed(reason)) => {
                tracing::error!(reason, "an export broke off");
                reason
            }
        };
        let _client_left = export.chunks.send(Err(BrokenOff(reason))).await;
    });
    futures::stream::unfold(waiting, |mut waiting| async move { Some((waiting.recv().await?, waiting)) })
}

enum Ended {
    ClientLeft,
    Refused(AuthError),
    Failed(String),
}

struct Export {
    hub: Arc<Hub>,
    caller: Caller,
    topic: TopicName,
    choice: ExportChoice,
    format: ExportFormat,
    damage: OnDamage,
    chunks: mpsc::Sender<Chunk>,
    chunk: Vec<u8>,
    before: Before,
}

impl Export {
    async fn run(&mut self, parts: Vec<Part>) -> Result<(), Ended> {
        self.format.begin(&mut self.chunk);
        for part in &parts {
            self.part(part).await?;
        }
        self.format.end(&mut self.chunk);
        self.flush().await
    }

    async fn part(&mut self, part: &Part) -> Result<(), Ended> {
        let mut from = part.from;
        while let Some(next) = self.choice.next(part.partition, from).filter(|next| *next < part.end) {
            from = next;
            let limit = ReadLimit { events: self.choice.run(from, EXPORT_READ_EVENTS), bytes: EXPORT_READ_BYTES };
            let read = self.hub.bus.read(&self.topic, part.partition, from, limit).await;
            let page = read.map_err(|error| Ended::Failed(error.to_string()))?;
            self.check(&page)?;
            let next = page.next;
            self.page(part, page).await?;
            if next <= from {
                break;
            }
            from = next;
        }
        Ok(())
    }

    async fn page(&mut self, part: &Part, page: Page) -> Result<(), Ended> {
        let events = page.events.into_iter().take_while(|event| event.offset() < part.end).collect();
        let chosen = self.choice.sift(&self.hub.bus, events).await;
        for event in chosen.map_err(|error| Ended::Failed(error.to_string()))? {
            self.format.event(&event, self.before, &mut self.chunk).map_err(Ended::Failed)?;
            self.before = Before::Some;
            if self.chunk.len() >= EXPORT_CHUNK_BYTES {
                self.flush().await?;
            }
        }
        Ok(())
    }

    fn check(&self, page: &Page) -> Result<(), Ended> {
        match (&page.damage, self.damage) {
            (None, _) => Ok(()),
            (Some(damage), OnDamage::BreakOff) => Err(Ended::Failed(damage.to_string())),
            (Some(damage), OnDamage::Skip) => {
                tracing::warn!(%damage, "an export passes over what cannot be read");
                Ok(())
            }
        }
    }

    async fn flush(&mut self) -> Result<(), Ended> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        // Room may come hours later: it is then that the token has to hold.
        let room = self.chunks.reserve().await.map_err(|_| Ended::ClientLeft)?;
        self.caller.is_still_let_in(&self.hub).map_err(Ended::Refused)?;
        room.send(Ok(std::mem::replace(&mut self.chunk, new_chunk()).into()));
        Ok(())
    }
}

/// With room for the event that goes over the edge.
fn new_chunk() -> Vec<u8> {
    Vec::with_capacity(EXPORT_CHUNK_BYTES + EXPORT_CHUNK_BYTES / 8)
}
