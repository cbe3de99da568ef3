//! Where a group stands in a topic, and putting it somewhere else.

use std::ops::Range;
use std::sync::Arc;

use prom_store::{CursorName, CursorState, LogName, RangeSet, ReadLimit};
use prom_types::{EpochMs, EventId, GroupName, Offset, TopicName};
use tokio::sync::oneshot;

use crate::dispatch::task::{DispatchRequest, MoveFrom, MoveOrder};
use crate::group::{GroupOptions, read_group};
use crate::limits::CONTENTION_TRIES;
use crate::position::resolve;
use crate::topic::Topic;
use crate::{BeyondEnd, Bus, Error, Position};

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

/// What moving a cursor does to a group in one partition. Events that are gone count as events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorMove {
    /// The partition.
    pub partition: u32,
    /// The floor until now.
    pub before: Offset,
    /// The floor from now on, unless what follows it is settled too.
    pub after: Offset,
    /// Settled events that are delivered again.
    pub come_again: u64,
    /// Unsettled events that are not delivered any more.
    pub skipped: u64,
}

impl CursorMove {
    pub(crate) fn new(partition: u32, before: Offset, above: &RangeSet, after: Offset) -> Self {
        let (come_again, skipped) = if after > before {
            (0, after - before - above.count_within(before..after))
        } else {
            (before - after + above.count_within(before..Offset::MAX), 0)
        };
        Self { partition, before, after, come_again, skipped }
    }

    /// Where it goes forward: what is settled by that.
    pub(crate) fn passed_over(&self) -> Option<Range<Offset>> {
        (self.after > self.before).then_some(self.before..self.after)
    }
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

    /// Moves a group in one partition. Forward, it passes over what is not settled before the new floor; everything
    /// beyond stays as it is. Back, or to where it stands, it gets all events from there on again, and what
    /// was delivered before can no longer be settled. Written to `system.audit` in the same commit.
    pub async fn set_cursor(
        &self,
        topic: &str,
        partition: u32,
        group: &str,
        position: Position,
    ) -> Result<CursorMove, Error> {
        self.move_cursor(topic, partition, group, position, None).await
    }

    /// As [`Bus::set_cursor`], but only if the group stands at `expected`, which a preview calls `before`: decided in the same
    /// step as the move, so that nothing is skipped or repeated which was not previewed.
    pub async fn set_cursor_from(
        &self,
        topic: &str,
        partition: u32,
        group: &str,
        position: Position,
        expected: Offset,
    ) -> Result<CursorMove, Error> {
        self.move_cursor(topic, partition, group, position, Some(expected)).await
    }

    async fn move_cursor(
        &self,
        topic: &str,
        partition: u32,
        group: &str,
        position: Position,
        expected: Option<Offset>,
    ) -> Result<CursorMove, Error> {
        self.core().check_open()?;
        let log = self.log(topic, partition).await?;
        let reading = self.reading(topic, group).await?;
        self.core().own(&reading.group).await?;
        let floor = self.floor_at(&log, position).await?;
        let start = self.store().bounds(&log).await?.start;
        let expected = expected.map(|floor| MoveFrom { floor, start });
        let order = |reply| {
            let subject = self.subject().map(Arc::from);
            DispatchRequest::Move(MoveOrder { floor, asked: position, expected, subject, reply })
        };
        let moved = self.order(&reading, &log, order).await?;
        let CursorMove { before, after, .. } = moved;
        tracing::info!(%log, group = %reading.group, before, after, asked = %position, "the cursor was moved");
        Ok(moved)
    }

    /// What [`Bus::set_cursor`] would do at this moment; changes nothing.
    pub async fn preview_cursor(
        &self,
        topic: &str,
        partition: u32,
        group: &str,
        position: Position,
    ) -> Result<CursorMove, Error> {
        let log = self.log(topic, partition).await?;
        let reading = self.reading(topic, group).await?;
        let floor = self.floor_at(&log, position).await?;
        let state = self.cursor_state(&log, &reading.group).await?;
        let start = self.store().bounds(&log).await?.start;
        Ok(CursorMove::new(partition, state.floor.max(start), &state.above, floor))
    }

    async fn floor_at(&self, log: &LogName, position: Position) -> Result<Offset, Error> {
        let floors = resolve(position, BeyondEnd::Refuse, &**self.store(), std::slice::from_ref(log)).await?;
        let start = self.store().bounds(log).await?.start;
        Ok(floors.first().copied().unwrap_or_default().max(start))
    }

    /// Has a dispatcher carry out what an operator orders. One may retire before it answers; then the next is asked.
    pub(crate) async fn order<A>(
        &self,
        reading: &GroupReading,
        log: &LogName,
        order: impl Fn(oneshot::Sender<Result<A, Error>>) -> DispatchRequest,
    ) -> Result<A, Error> {
        let group = self.core().groups.get(&reading.group);
        for _ in 0..CONTENTION_TRIES {
            let (reply, answer) = oneshot::channel();
            let mailbox = group.mailbox(self.core(), log, &reading.options);
            if mailbox.send(order(reply)).await.is_err() {
                continue;
            }
            match answer.await {
                Ok(Err(Error::Fenced { .. })) | Err(_) => {}
                Ok(result) => return result,
            }
        }
        Err(Error::Contended { what: format!("cursor {}", CursorName::new(log.clone(), reading.group.clone())) })
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
