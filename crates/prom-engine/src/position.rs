//! Turning a position into offsets: for a new group, for a tail, for a cursor that is moved, and for
//! pages of a topic.

use prom_store::{Find, LogName, ReadLimit, Store};
use prom_types::{EventId, Offset, Position};

use crate::{Bus, Error, TopicOffsets};

/// What an offset beyond the end of a log means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeyondEnd {
    /// Refused: a cursor there would skip events that do not exist yet.
    Refuse,
    /// Reading begins there; there is nothing yet.
    Allow,
}

impl Bus {
    /// The offsets of a position in the partitions of a topic.
    pub async fn offsets(&self, topic: &str, position: Position, beyond: BeyondEnd) -> Result<TopicOffsets, Error> {
        let topic = self.core().topics.require(&**self.store(), topic).await?;
        resolve(position, beyond, &**self.store(), topic.logs()).await.map(TopicOffsets)
    }

    /// The partition and offset of the event with this id, by the index of ids; `None` if there is none (any more).
    pub async fn find_event(&self, topic: &str, id: EventId) -> Result<Option<(u32, Offset)>, Error> {
        let topic = self.core().topics.require(&**self.store(), topic).await?;
        for log in topic.logs() {
            if let Some(offset) = self.store().find(log, Find::Id(id)).await? {
                return Ok(Some((log.partition, offset)));
            }
        }
        Ok(None)
    }
}

/// The offsets of a position in these logs, in their order. `Latest` costs no reading.
pub(crate) async fn resolve(
    position: Position,
    beyond: BeyondEnd,
    store: &dyn Store,
    logs: &[LogName],
) -> Result<Vec<Offset>, Error> {
    if let (Position::AfterId(id), false) = (position, logs.is_empty()) {
        return after(store, logs, id).await;
    }
    let mut offsets = Vec::with_capacity(logs.len());
    for log in logs {
        offsets.push(resolve_one(position, beyond, store, log).await?);
    }
    Ok(offsets)
}

async fn resolve_one(position: Position, beyond: BeyondEnd, store: &dyn Store, log: &LogName) -> Result<Offset, Error> {
    let bounds = store.bounds(log).await?;
    match position {
        Position::Latest | Position::AfterId(_) => Ok(bounds.next),
        Position::Earliest => Ok(bounds.start),
        Position::StoredAt(ts) => Ok(store.find(log, Find::StoredAt(ts)).await?.unwrap_or(bounds.next)),
        Position::Offset(asked) if asked > bounds.next && beyond == BeyondEnd::Refuse => {
            Err(Error::CursorBeyondEnd { topic: log.topic.clone(), partition: log.partition, asked, next: bounds.next })
        }
        // Also before the start: what is gone is told as a gap.
        Position::Offset(asked) => Ok(asked),
    }
}

/// Right after the event in its own log; the others begin at the time at which it was stored.
async fn after(store: &dyn Store, logs: &[LogName], id: EventId) -> Result<Vec<Offset>, Error> {
    let mut found = None;
    for log in logs {
        if let Some(offset) = store.find(log, Find::Id(id)).await? {
            found = Some((log, offset));
            break;
        }
    }
    let (home, offset) = found.ok_or(Error::UnknownEvent { id })?;
    let one = ReadLimit { events: 1, ..ReadLimit::default() };
    let stored_ts = match store.read(home, offset, one).await?.records.first() {
        Some(record) if record.offset() == offset => record.stored_ts(),
        _ => return Err(Error::UnknownEvent { id }),
    };
    let mut offsets = Vec::with_capacity(logs.len());
    for log in logs {
        offsets.push(if log == home {
            offset + 1
        } else {
            resolve_one(Position::StoredAt(stored_ts), BeyondEnd::Refuse, store, log).await?
        });
    }
    Ok(offsets)
}
