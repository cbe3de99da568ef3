//! Retention: events older or more than a topic keeps are trimmed, partition by partition.
//!
//! Promises: an event that is appended while a pass looks at its log is not trimmed by that pass; a
//! log that fails keeps no other from being trimmed; what is held ([`crate::history`]) stays; a dead letter that is parked, or
//! given back and not handed out, stays, and so does what came after it.

use prom_store::{Bounds, Find, LogName};
use prom_types::{EpochMs, Offset};

use crate::Retention;
use crate::bus::Core;
use crate::maintain::PassFailures;
use crate::set_aside::first_letter_needed;
use crate::{Bus, Error};

/// What a pass took away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retained {
    /// The partition.
    pub log: LogName,
    /// The first offset that is left.
    pub start: Offset,
    /// How many offsets went.
    pub removed_offsets: u64,
}

impl Bus {
    /// Applies retention to every topic now. What a group had not settled becomes a gap for it.
    /// [`Error::Incomplete`] names the logs for which it failed; the others were trimmed.
    pub async fn retain_now(&self) -> Result<Vec<Retained>, Error> {
        retain(self.core()).await
    }
}

pub(crate) async fn retain(core: &Core) -> Result<Vec<Retained>, Error> {
    let mut retained = Vec::new();
    let mut failures = PassFailures::of("retention");
    for topic in core.topics.all() {
        for log in topic.logs() {
            match retain_log(core, log, topic.settings.retention).await {
                Ok(one) => retained.extend(one),
                Err(error) => failures.note(log, error)?,
            }
        }
    }
    failures.unless_any(retained)
}

/// `None` if everything may stay.
async fn retain_log(core: &Core, log: &LogName, retention: Retention) -> Result<Option<Retained>, Error> {
    let before = core.store.bounds(log).await?;
    let mut keep_from = keep_from(core, log, retention, before).await?;
    if keep_from > before.start
        && let Some(needed) = first_letter_needed(&*core.store, log).await?
    {
        keep_from = keep_from.min(needed);
    }
    if keep_from > before.start
        && let Some(held) = core.history(&log.topic).await?.history.keep_from
    {
        keep_from = keep_from.min(held.get(log.partition as usize).copied().unwrap_or(0));
    }
    if keep_from <= before.start {
        return Ok(None);
    }
    let after = core.store.trim(log, keep_from).await?;
    tracing::info!(%log, start = after.start, "retention removed events");
    Ok(Some(Retained {
        log: log.clone(),
        start: after.start,
        removed_offsets: after.start.saturating_sub(before.start),
    }))
}

/// The first offset to keep: the later of what age and size say, and never beyond the bounds that
/// were read before looking.
async fn keep_from(core: &Core, log: &LogName, retention: Retention, before: Bounds) -> Result<Offset, Error> {
    let mut keep_from = before.start;
    let looks = [
        retention.age_ms.map(|age| {
            let age = EpochMs::try_from(age).unwrap_or(EpochMs::MAX);
            Find::StoredAt(core.clock.now_ms().saturating_sub(age))
        }),
        retention.size_bytes.map(Find::RemainingBytes),
    ];
    for look in looks.into_iter().flatten() {
        // Nothing found: everything that was there before looking may go.
        let found = core.store.find(log, look).await?.unwrap_or(before.next);
        keep_from = keep_from.max(found.min(before.next));
    }
    Ok(keep_from)
}
