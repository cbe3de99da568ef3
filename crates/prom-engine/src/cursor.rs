//! Where a group stands in a topic, and putting it somewhere else.

use std::sync::Arc;

use prom_store::{CursorName, CursorState, LogName, ReadLimit};
use prom_types::{EpochMs, EventId, GroupName, Offset, TopicName};
use tokio::sync::oneshot;

use crate::dispatch::task::{DispatchRequest, Reset};
use crate::group::{GroupOptions, read_group};
use crate::limits::CONTENTION_TRIES;
use crate::position::resolve;
use crate::topic::Topic;
use crate::{BeyondEnd, Bus, Error, Position, audit};

/// The durable cursor of a group in one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorInfo {
    /// The topic.
    pub topic: TopicName,
    /// The partition.
    pub partition: u32,
    /// The floor: everything before it is settled.
    pub offset: Offset,
    /// The last event before the floor, if it is still there.
    pub last_id: Option<EventId>,
    /// When that event was stored.
    pub last_ts: Option<EpochMs>,
    /// How many offsets beyond the floor are settled.
    pub acked_above: u64,
}

impl Bus {
    /// Where a group stands, partition by partition.
    pub async fn cursor(&self, topic: &str, group: &str) -> Result<Vec<CursorInfo>, Error> {
        let reading = self.reading(topic, group).await?;
        let mut cursors = Vec::new();
        for log in reading.topic.logs() {
            let state = self.cursor_state(log, &reading.group).await?;
            let last = match state.floor.checked_sub(1) {
                Some(last) => self.stored_at(log, last).await?,
                None => None,
            };
            cursors.push(CursorInfo {
                topic: log.topic.clone(),
                partition: log.partition,
                offset: state.floor,
                last_id: last.map(|(id, _)| id),
                last_ts: last.map(|(_, ts)| ts),
                acked_above: state.above.iter().map(|range| range.end - range.start).sum(),
            });
        }
        Ok(cursors)
    }

    /// Rewinds a group or skips ahead, in one partition. Fences everything in flight there: what was
    /// delivered before can no longer be settled. Written to `system.audit` in the same commit.
    /// Returns the new floor.
    pub async fn set_cursor(
        &self,
        topic: &str,
        partition: u32,
        group: &str,
        position: Position,
    ) -> Result<Offset, Error> {
        self.core().check_open()?;
        let log = self.log(topic, partition).await?;
        let reading = self.reading(topic, group).await?;
        self.core().own(&reading.group).await?;
        let floors = resolve(position, BeyondEnd::Refuse, &**self.store(), std::slice::from_ref(&log)).await?;
        let floor = floors.first().copied().unwrap_or_default();
        let cursor = CursorName::new(log, reading.group.clone());
        let before = self.store().cursor(&cursor).await?.map(|state| state.floor);
        let group = self.core().groups.get(&reading.group);
        // A dispatcher may retire between two words of this; then another one is asked.
        for _ in 0..CONTENTION_TRIES {
            let (reply, answer) = oneshot::channel();
            let reset = Reset { floor, audit: audit::cursor_moved(&cursor, before, floor, position)?, reply };
            let mailbox = group.mailbox(self.core(), &cursor.log, &reading.options);
            if mailbox.send(DispatchRequest::Reset(Box::new(reset))).await.is_err() {
                continue;
            }
            match answer.await {
                Ok(Err(Error::Fenced { .. })) | Err(_) => {}
                Ok(result) => {
                    result?;
                    tracing::info!(%cursor, ?before, floor, asked = %position, "the cursor was moved");
                    return Ok(floor);
                }
            }
        }
        Err(Error::Contended { what: format!("cursor {cursor}") })
    }

    /// A group that exists and reads a topic that exists.
    pub(crate) async fn reading(&self, topic: &str, group: &str) -> Result<GroupReading, Error> {
        let group = GroupName::parse(group)?;
        let Some((document, _)) = read_group(&**self.store(), &group).await? else {
            return Err(Error::UnknownGroup { group });
        };
        let topic = self.core().topics.require(&**self.store(), topic).await?;
        let agreed = document.subscriptions.into_iter().find(|agreed| agreed.matches(topic.name()));
        match agreed {
            Some(agreed) => Ok(GroupReading { group, topic, options: Arc::new(agreed.options) }),
            None => Err(Error::NotOfTheGroup { group, topic: topic.name().clone() }),
        }
    }

    /// A topic that came after the group begins at 0.
    pub(crate) async fn cursor_state(&self, log: &LogName, group: &GroupName) -> Result<CursorState, Error> {
        let name = CursorName::new(log.clone(), group.clone());
        Ok(self.store().cursor(&name).await?.unwrap_or_default())
    }

    pub(crate) async fn stored_at(&self, log: &LogName, offset: Offset) -> Result<Option<(EventId, EpochMs)>, Error> {
        let one = ReadLimit { events: 1, ..ReadLimit::default() };
        let batch = self.store().read(log, offset, one).await?;
        let record = batch.records.first().filter(|record| record.offset() == offset);
        Ok(record.map(|record| (record.id(), record.stored_ts())))
    }
}

/// A group together with a topic it reads.
pub(crate) struct GroupReading {
    pub group: GroupName,
    pub topic: Arc<Topic>,
    pub options: Arc<GroupOptions>,
}
