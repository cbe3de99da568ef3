//! Settling one event for a group that cannot get past it.

use std::sync::Arc;

use prom_store::{Find, LogName};
use prom_types::{EventId, Offset};

use crate::cursor::GroupReading;
use crate::dispatch::Settled;
use crate::dispatch::task::{DispatchRequest, SkipOrder};
use crate::{Bus, Error};

/// How an event of a topic is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventPlace {
    /// By where it is.
    Offset {
        /// The partition.
        partition: u32,
        /// The offset in it.
        offset: Offset,
    },
    /// By its id. Where several partitions have it, the first counts in which the group has not settled it.
    Id(EventId),
}

/// What became of an event that was to be skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkippedEvent {
    /// Its partition.
    pub partition: u32,
    /// Its offset.
    pub offset: Offset,
    /// Its id, if it is still there.
    pub id: Option<EventId>,
    /// Whether it was settled before; then nothing was changed.
    pub already_settled: bool,
}

impl Bus {
    /// Settles one event for a group, also while a subscriber holds it. That subscriber may still ack or nack it; this
    /// changes nothing. Written to `system.audit` in the same commit. No dead letter is written.
    pub async fn skip(&self, topic: &str, group: &str, place: EventPlace) -> Result<SkippedEvent, Error> {
        self.core().check_open()?;
        let reading = self.reading(topic, group).await?;
        self.core().own(&reading.group).await?;
        let found = self.places_of(topic, &reading, place).await?;
        let mut skipped = None;
        for (log, offset, id) in found {
            let order = |reply| {
                let subject = self.subject().map(Arc::from);
                DispatchRequest::Skip(SkipOrder { offset, id, subject, reply })
            };
            let settled = self.order(&reading, &log, order).await?;
            let already_settled = settled == Settled::AlreadySettled;
            let event = SkippedEvent { partition: log.partition, offset, id, already_settled };
            if !already_settled {
                tracing::info!(%log, group = %reading.group, offset, "an event was skipped");
                return Ok(event);
            }
            skipped.get_or_insert(event);
        }
        skipped.ok_or(Error::Closed)
    }

    /// Where an event is that somebody names; never nowhere.
    pub(crate) async fn places_of(
        &self,
        topic: &str,
        reading: &GroupReading,
        place: EventPlace,
    ) -> Result<Vec<(LogName, Offset, Option<EventId>)>, Error> {
        Ok(match place {
            EventPlace::Offset { partition, offset } => vec![self.at_offset(topic, partition, offset).await?],
            EventPlace::Id(id) => self.with_id(reading.topic.logs(), id).await?,
        })
    }

    async fn at_offset(
        &self,
        topic: &str,
        partition: u32,
        offset: Offset,
    ) -> Result<(LogName, Offset, Option<EventId>), Error> {
        let log = self.log(topic, partition).await?;
        let next = self.store().bounds(&log).await?.next;
        if offset >= next {
            return Err(Error::CursorBeyondEnd { topic: log.topic, partition, asked: offset, next });
        }
        let id = self.stored_at(&log, offset).await?.map(|(id, _)| id);
        Ok((log, offset, id))
    }

    /// Where an id is; never nowhere.
    async fn with_id(&self, logs: &[LogName], id: EventId) -> Result<Vec<(LogName, Offset, Option<EventId>)>, Error> {
        let mut found = Vec::new();
        for log in logs {
            if let Some(offset) = self.store().find(log, Find::Id(id)).await? {
                found.push((log.clone(), offset, Some(id)));
            }
        }
        if found.is_empty() { Err(Error::UnknownEvent { id }) } else { Ok(found) }
    }
}
