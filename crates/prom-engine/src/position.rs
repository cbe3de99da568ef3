//! Where reading begins: for a new group, for a tail, and for a cursor that is moved.

use prom_store::{Find, LogName, ReadLimit, Store};
use prom_types::{EpochMs, EventId, Offset};
use serde::{Deserialize, Serialize};

use crate::Error;

/// A place in a topic. In a topic with several partitions it is found in each of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// After everything that is there now.
    #[default]
    Latest,
    /// At the oldest event that is retained.
    Earliest,
    /// At the first event stored at or after this time.
    StoredAt(EpochMs),
    /// Right after this event. Other partitions begin at the time at which it was stored.
    AfterId(EventId),
    /// At this offset; never beyond the end.
    Offset(Offset),
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Earliest => f.write_str("earliest"),
            Self::StoredAt(ts) => write!(f, "ts:{ts}"),
            Self::AfterId(id) => write!(f, "after:{id}"),
            Self::Offset(offset) => write!(f, "offset:{offset}"),
        }
    }
}

impl Position {
    /// The offsets it stands for in these logs, in their order. `Latest` costs no reading.
    pub(crate) async fn resolve(self, store: &dyn Store, logs: &[LogName]) -> Result<Vec<Offset>, Error> {
        if let (Self::AfterId(id), false) = (self, logs.is_empty()) {
            return after(store, logs, id).await;
        }
        let mut offsets = Vec::with_capacity(logs.len());
        for log in logs {
            offsets.push(self.resolve_one(store, log).await?);
        }
        Ok(offsets)
    }

    async fn resolve_one(self, store: &dyn Store, log: &LogName) -> Result<Offset, Error> {
        let bounds = store.bounds(log).await?;
        match self {
            Self::Latest | Self::AfterId(_) => Ok(bounds.next),
            Self::Earliest => Ok(bounds.start),
            Self::StoredAt(ts) => Ok(store.find(log, Find::StoredAt(ts)).await?.unwrap_or(bounds.next)),
            Self::Offset(asked) if asked > bounds.next => Err(Error::CursorBeyondEnd {
                topic: log.topic.clone(),
                partition: log.partition,
                asked,
                next: bounds.next,
            }),
            Self::Offset(asked) => Ok(asked.max(bounds.start)),
        }
    }
}

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
        offsets.push(match log == home {
            true => offset + 1,
            false => Position::StoredAt(stored_ts).resolve_one(store, log).await?,
        });
    }
    Ok(offsets)
}
