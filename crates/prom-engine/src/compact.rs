//! Compaction: topics that keep the latest event of each key are cleaned.

use std::time::Duration;

use prom_store::{CompactReport, LogName};

use crate::bus::Core;
use crate::maintain::PassFailures;
use crate::{Bus, Error};

impl Bus {
    /// Compacts every compacted topic now. [`Error::Incomplete`] names the logs for which it failed;
    /// the others were compacted.
    pub async fn compact_now(&self) -> Result<Vec<(LogName, CompactReport)>, Error> {
        compact(self.core()).await
    }
}

pub(crate) async fn compact(core: &Core) -> Result<Vec<(LogName, CompactReport)>, Error> {
    let mut reports = Vec::new();
    let mut failures = PassFailures::of("compaction");
    for topic in core.topics.all() {
        let Some(compaction) = topic.settings.compaction else {
            continue;
        };
        for log in topic.logs() {
            let grace = Duration::from_millis(compaction.tombstone_grace_ms);
            match core.store.compact(log, grace).await {
                Ok(report) => reports.push((log.clone(), report)),
                Err(error) => failures.note(log, error.into())?,
            }
        }
    }
    failures.unless_any(reports)
}
