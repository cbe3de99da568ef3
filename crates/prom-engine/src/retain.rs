//! Retention: events older or more than a topic keeps are trimmed, partition by partition.

use prom_store::{Find, LogName};
use prom_types::{EpochMs, Offset};

use crate::bus::Core;
use crate::topic::Retention;
use crate::{Bus, Error};

/// What a pass took away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retained {
    pub log: LogName,
    /// The first offset that is left.
    pub start: Offset,
    pub removed_offsets: u64,
}

impl Bus {
    /// Applies retention to every topic now. What a group had not settled becomes a gap for it.
    pub async fn retain_now(&self) -> Result<Vec<Retained>, Error> {
        retain(self.core()).await
    }
}

pub(crate) async fn retain(core: &Core) -> Result<Vec<Retained>, Error> {
    let mut retained = Vec::new();
    for topic in core.topics.all() {
        for log in topic.logs() {
            let before = core.store.bounds(log).await?;
            let keep_from = keep_from(core, log, topic.settings.retention).await?;
            if keep_from <= before.start {
                continue;
            }
            let after = core.store.trim(log, keep_from).await?;
            tracing::info!(%log, start = after.start, "retention removed events");
            retained.push(Retained {
                log: log.clone(),
                start: after.start,
                removed_offsets: after.start - before.start,
            });
        }
    }
    Ok(retained)
}

/// The first offset to keep: the later of what age and size say.
async fn keep_from(core: &Core, log: &LogName, retention: Retention) -> Result<Offset, Error> {
    let mut keep_from = 0;
    let looks = [
        retention.age_ms.map(|age| {
            let age = EpochMs::try_from(age).unwrap_or(EpochMs::MAX);
            Find::StoredAt(core.clock.now_ms().saturating_sub(age))
        }),
        retention.size_bytes.map(Find::RemainingBytes),
    ];
    for look in looks.into_iter().flatten() {
        // Read before looking: what is appended in between is young, and stays.
        let next = core.store.bounds(log).await?.next;
        let found = core.store.find(log, look).await?.unwrap_or(next);
        keep_from = keep_from.max(found);
    }
    Ok(keep_from)
}
