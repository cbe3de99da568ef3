//! Where reading begins: from the request's words to offsets.

use prom_engine::{Bus, Error, Position};
use prom_store::{Find, LogName, ReadLimit};
use prom_types::{EpochMs, EventId, Offset, TopicName};

use super::problem::Problem;

/// `from` with what belongs to it, as a query or a body says it.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub from: Option<String>,
    pub ts: Option<EpochMs>,
    pub after_id: Option<String>,
    pub offset: Option<Offset>,
}

impl Asked {
    /// `None` if nothing was said. `from` may be left out where `ts`, `afterId` or `offset` says it.
    pub fn position(self) -> Result<Option<Position>, Problem> {
        let said = match (&self.from, self.ts, &self.after_id, self.offset) {
            (Some(from), ..) => from.as_str(),
            (None, Some(_), None, None) => "ts",
            (None, None, Some(_), None) => "afterId",
            (None, None, None, Some(_)) => "offset",
            (None, None, None, None) => return Ok(None),
            _ => return Err(Problem::field("from", "say one of ts, afterId and offset")),
        };
        let missing = |name: &str| Problem::field(name, format_args!("is missing; from={name} needs it"));
        let position = match said {
            "earliest" => Position::Earliest,
            "latest" => Position::Latest,
            "ts" => Position::StoredAt(self.ts.ok_or_else(|| missing("ts"))?),
            "offset" => Position::Offset(self.offset.ok_or_else(|| missing("offset"))?),
            "afterId" => {
                let id = self.after_id.ok_or_else(|| missing("afterId"))?;
                Position::AfterId(EventId::parse(&id).map_err(|invalid| Problem::field("afterId", invalid))?)
            }
            other => {
                let reason = format!("{other:?} is none of earliest, latest, ts, afterId, offset");
                return Err(Problem::field("from", reason));
            }
        };
        Ok(Some(position))
    }
}

/// The partitions of a topic that exists.
pub(super) async fn logs_of(bus: &Bus, topic: &TopicName) -> Result<Vec<LogName>, Problem> {
    let partitions = bus.topic_settings(topic).await?.partitions;
    Ok((0..partitions).map(|partition| LogName::new(topic.clone(), partition)).collect())
}

/// The offsets that a position stands for, in the order of `logs`. Unlike a cursor, reading may
/// begin beyond the end: there is just nothing yet.
pub(super) async fn offsets(bus: &Bus, logs: &[LogName], position: Position) -> Result<Vec<Offset>, Problem> {
    if let Position::AfterId(id) = position {
        return after(bus, logs, id).await;
    }
    let mut offsets = Vec::with_capacity(logs.len());
    for log in logs {
        offsets.push(match position {
            Position::Earliest => bus.store().bounds(log).await?.start,
            Position::Offset(offset) => offset,
            Position::StoredAt(ts) => stored_at(bus, log, ts).await?,
            Position::Latest | Position::AfterId(_) => bus.store().bounds(log).await?.next,
        });
    }
    Ok(offsets)
}

/// The first offset stored at or after a time; the end if there is none.
pub(super) async fn stored_at(bus: &Bus, log: &LogName, ts: EpochMs) -> Result<Offset, Problem> {
    let end = bus.store().bounds(log).await?.next;
    Ok(bus.store().find(log, Find::StoredAt(ts)).await?.unwrap_or(end))
}

/// Right after an event; the other partitions begin at the time at which it was stored.
async fn after(bus: &Bus, logs: &[LogName], id: EventId) -> Result<Vec<Offset>, Problem> {
    for (home, log) in logs.iter().enumerate() {
        let Some(offset) = bus.store().find(log, Find::Id(id)).await? else {
            continue;
        };
        let one = ReadLimit { events: 1, ..ReadLimit::default() };
        let batch = bus.store().read(log, offset, one).await?;
        let Some(record) = batch.records.first().filter(|record| record.offset() == offset) else {
            break;
        };
        let mut offsets = Vec::with_capacity(logs.len());
        for (at, log) in logs.iter().enumerate() {
            offsets.push(match at == home {
                true => offset + 1,
                false => stored_at(bus, log, record.stored_ts()).await?,
            });
        }
        return Ok(offsets);
    }
    Err(Error::UnknownEvent { id }.into())
}
