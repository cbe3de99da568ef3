//! Compaction: topics that keep the latest event of each key are cleaned.
//!
//! Promises: no event goes that a group has yet to read, that is younger than the topic's `min_age_ms`, or that a snapshot under
//! way needs; how far a log is compacted is noted durably before its first event goes ([`crate::history`]). A pass reads no
//! faster than [`crate::BusOptions::compaction_bytes_per_s`], and passes over logs in which little is new.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use prom_store::{Announce, CompactPlan, CompactReport, Find, LogName};
use prom_types::{Compaction, EpochMs, Offset};

use crate::bus::Core;
use crate::history::{CompactedTo, time_of};
use crate::limits::{COMPACT_AGAIN_AFTER_MS, COMPACT_WORTH_PERCENT};
use crate::maintain::PassFailures;
use crate::{Bus, Error};

impl Bus {
    /// Compacts every compacted topic now. [`Error::Incomplete`] names the logs for which it failed;
    /// the others were compacted.
    pub async fn compact_now(&self) -> Result<Vec<(LogName, CompactReport)>, Error> {
        compact(self.core(), CompactWhich::All).await
    }
}

/// CompactWhich logs a pass compacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompactWhich {
    All,
    /// Those where enough is new to be worth reading them.
    Worthwhile,
}

/// What the last compaction of a log by this process left.
#[derive(Debug, Default)]
pub(crate) struct Compacted(Mutex<HashMap<LogName, LastCompaction>>);

#[derive(Debug, Clone, Copy)]
struct LastCompaction {
    before: Offset,
    events_left: u64,
    at: EpochMs,
}

impl Compacted {
    fn is_worthwhile(&self, log: &LogName, before: Offset, now: EpochMs) -> bool {
        self.0.lock().get(log).is_none_or(|last| {
            let new = before.saturating_sub(last.before);
            let is_much = new * 100 >= last.events_left.max(1) * COMPACT_WORTH_PERCENT;
            new > 0 && is_much || now.saturating_sub(last.at) >= COMPACT_AGAIN_AFTER_MS
        })
    }
}

pub(crate) async fn compact(core: &Arc<Core>, which: CompactWhich) -> Result<Vec<(LogName, CompactReport)>, Error> {
    let mut reports = Vec::new();
    let mut failures = PassFailures::of("compaction");
    for topic in core.topics.all() {
        let Some(compaction) = topic.settings.compaction else {
            continue;
        };
        for log in topic.logs() {
            match compact_log(core, log, compaction, which).await {
                Ok(report) => reports.extend(report.map(|report| (log.clone(), report))),
                Err(error) => failures.note(log, error)?,
            }
        }
    }
    failures.unless_any(reports)
}

/// `None` if there is nothing to do.
async fn compact_log(
    core: &Arc<Core>,
    log: &LogName,
    compaction: Compaction,
    which: CompactWhich,
) -> Result<Option<CompactReport>, Error> {
    let now = core.clock.now_ms();
    let before = limit(core, log, compaction, now).await?;
    if which == CompactWhich::Worthwhile && !core.compacted.is_worthwhile(log, before, now) {
        return Ok(None);
    }
    let mark = CompactedTo { to: before, ts: time_of(&*core.store, log, before).await? };
    let note = NoteFirst { core, log, mark, failed: Mutex::new(None) };
    let plan = CompactPlan {
        before,
        tombstone_grace: Duration::from_millis(compaction.tombstone_grace_ms),
        bytes_per_s: core.options.compaction_bytes_per_s,
        announce: Some(&note),
    };
    let report = core.store.compact(log, plan).await?;
    if let Some(error) = note.failed.into_inner() {
        return Err(error);
    }
    if report.events_after < report.events_before {
        let removed = report.events_before - report.events_after;
        tracing::info!(%log, removed, before, bytes = report.bytes_after, "compaction removed events");
    }
    let last = LastCompaction { before, events_left: report.events_after, at: now };
    core.compacted.0.lock().insert(log.clone(), last);
    Ok(Some(report))
}

/// The first offset that has to stay as it is.
async fn limit(core: &Core, log: &LogName, compaction: Compaction, now: EpochMs) -> Result<Offset, Error> {
    // The bounds come first: a hold that is stored later begins beyond them.
    let bounds = core.store.bounds(log).await?;
    let mut before = bounds.next;
    let hold = core.history(&log.topic).await?.history.compact_before;
    if let Some(hold) = hold {
        before = before.min(hold.get(log.partition as usize).copied().unwrap_or(0));
    }
    for (cursor, state) in core.store.cursors(Some(&log.topic)).await? {
        if cursor.log == *log {
            before = before.min(state.floor);
        }
    }
    if compaction.min_age_ms > 0 {
        let age = EpochMs::try_from(compaction.min_age_ms).unwrap_or(EpochMs::MAX);
        let young = core.store.find(log, Find::StoredAt(now.saturating_sub(age))).await?;
        before = before.min(young.unwrap_or(bounds.next));
    }
    Ok(before)
}

/// Notes how far a log is compacted before its first event goes.
struct NoteFirst<'a> {
    core: &'a Arc<Core>,
    log: &'a LogName,
    mark: CompactedTo,
    failed: Mutex<Option<Error>>,
}

#[async_trait]
impl Announce for NoteFirst<'_> {
    async fn may_remove(&self) -> bool {
        match self.core.note_compaction(self.log, self.mark).await {
            Ok(()) => true,
            Err(error) => {
                *self.failed.lock() = Some(error);
                false
            }
        }
    }
}
