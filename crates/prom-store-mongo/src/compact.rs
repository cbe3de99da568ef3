//! Compaction: old batches are rewritten without the events that later ones replaced.
//!
//! A batch keeps its base and its end even when it is empty: the chain stays whole, and merging reduces the number
//! of batches. An event is removed only if `latest` has a later one of its key; an event that is later than that entry
//! is put there again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use mongodb::bson::doc;
use prom_store::{CompactPlan, CompactReport, KeysBefore, LogName, Record, StoreError};
use prom_types::{EpochMs, Offset};

use crate::codec::{BatchPlan, StoredBatch};
use crate::fault::unreadable;
use crate::latest::{self, Latest, WithText};
use crate::limits::ACTIVE_BATCHES;
use crate::log::ensure_loaded;
use crate::queries;
use crate::read::fetch;
use crate::remove::Ages;
use crate::shared::MongoShared;

struct Pass<'a> {
    shared: &'a Arc<MongoShared>,
    name: &'a LogName,
    start: Offset,
    /// Only batches that begin before this may be rewritten: a tombstone must not go while earlier events of its key
    /// are left.
    before: Offset,
    ages: Ages,
    plan: CompactPlan<'a>,
    /// What replaces what, before the limit of the plan.
    keys: KeysBefore,
    announced: Announced,
    pace: Pace,
    grace_ms: EpochMs,
    now: EpochMs,
    report: CompactReport,
}

/// Whether the caller knows that events go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Announced {
    NotYet,
    Yes,
    /// It does not want that now.
    Refused,
}

/// Keeps a compaction from taking the servers for itself.
struct Pace {
    bytes_per_s: Option<u64>,
    began: Instant,
    spent: u64,
}

impl Pace {
    async fn spend(&mut self, records: &[Record]) {
        self.spent += records.iter().map(|record| record.len() as u64).sum::<u64>();
        if let Some(bytes_per_s) = self.bytes_per_s.filter(|rate| *rate > 0) {
            let due = Duration::from_secs_f64(self.spent as f64 / bytes_per_s as f64);
            tokio::time::sleep(due.saturating_sub(self.began.elapsed())).await;
        }
    }
}

pub async fn compact(
    shared: &Arc<MongoShared>,
    name: &LogName,
    plan: CompactPlan<'_>,
) -> Result<CompactReport, StoreError> {
    shared.check_open()?;
    let log = shared.log(name);
    ensure_loaded(shared, &log).await?;
    if !log.lock().options.compacted {
        return Err(StoreError::NotCompacted { log: name.clone() });
    }
    latest::fill(shared, &log).await?;
    let mut pass = Pass {
        shared,
        name,
        start: log.bounds().start,
        before: active_from(shared, name).await?,
        ages: Ages::now(shared).await?,
        plan,
        keys: KeysBefore::default(),
        announced: if plan.announce.is_some() { Announced::NotYet } else { Announced::Yes },
        pace: Pace { bytes_per_s: plan.bytes_per_s, began: Instant::now(), spent: 0 },
        grace_ms: EpochMs::try_from(plan.tombstone_grace.as_millis()).unwrap_or(EpochMs::MAX),
        now: shared.options.clock.now_ms(),
        report: CompactReport::default(),
    };
    let start = pass.start;
    let first = crate::trim::head_before(shared, name, start + 1).await?.map_or(0, |head| head.base);
    let mut from = first;
    while from < plan.before
        && let Some(batch) = fetch(shared, name, from, 1).await?.into_iter().next()
    {
        from = batch.head.next;
        pass.note_keys(&batch.records).await;
    }
    from = first;
    while let Some(batch) = fetch(shared, name, from, 1).await?.into_iter().next() {
        from = batch.head.next;
        pass.look_at(batch).await?;
    }
    let report = pass.report;
    if report.events_after < report.events_before {
        shared.cache.forget(name);
        let gone = (report.bytes_before - report.bytes_after) as i64;
        let update = || doc! { "$inc": { "removed": gone } };
        let filter = || queries::log(name).filter;
        shared.read(|| async { shared.collections.logs.update_one(filter(), update()).await }).await?;
        log.lock().removed += gone.unsigned_abs();
    }
    Ok(report)
}

/// Where the newest batches begin.
async fn active_from(shared: &MongoShared, name: &LogName) -> Result<Offset, StoreError> {
    let bases = shared
        .read(async || {
            let query = queries::head(name);
            let find = shared.collections.batches.find(query.filter).sort(query.sort).projection(query.projection);
            let mut cursor = find.limit(ACTIVE_BATCHES as i64).await?;
            let mut bases = Vec::new();
            while cursor.advance().await? {
                bases.extend(StoredBatch::base_of(cursor.current()));
            }
            Ok(bases)
        })
        .await?;
    Ok(bases.last().copied().unwrap_or(0))
}

impl Pass<'_> {
    async fn note_keys(&mut self, records: &[Record]) {
        for record in records.iter().take_while(|record| record.offset() < self.plan.before) {
            if let Some(key) = record.key() {
                self.keys.note(key, record.offset());
            }
        }
        self.pace.spend(records).await;
    }

    /// Tells the caller once, before the first event goes.
    async fn may_remove(&mut self) -> bool {
        if let (Announced::NotYet, Some(announce)) = (self.announced, self.plan.announce) {
            self.announced = if announce.may_remove().await { Announced::Yes } else { Announced::Refused };
        }
        self.announced == Announced::Yes
    }

    async fn look_at(&mut self, batch: StoredBatch) -> Result<(), StoreError> {
        let start = self.start;
        let retained = |record: &&Record| record.offset() >= start;
        let count = |records: &[Record]| records.iter().filter(retained).count() as u64;
        let bytes = |records: &[Record]| records.iter().filter(retained).map(|record| record.len() as u64).sum::<u64>();
        self.report.events_before += count(&batch.records);
        self.report.bytes_before += bytes(&batch.records);
        let cleaned = if batch.head.base < self.before && self.ages.is_old(&batch.head) {
            self.clean(&batch).await?
        } else {
            Cleaned::NotNow
        };
        let records = match &cleaned {
            Cleaned::Rewritten(kept) => kept,
            Cleaned::AsItWas => &batch.records,
            Cleaned::NotNow => {
                self.before = self.before.min(batch.head.base);
                &batch.records
            }
        };
        self.report.events_after += count(records);
        self.report.bytes_after += bytes(records);
        Ok(())
    }

    async fn clean(&mut self, batch: &StoredBatch) -> Result<Cleaned, StoreError> {
        self.pace.spend(&batch.records).await;
        let mut keys: Vec<&str> = batch.records.iter().filter_map(Record::key).collect();
        keys.sort_unstable();
        keys.dedup();
        let latest = latest::filled(self.shared, self.name, &keys).await?;
        let is_missing = |record: &&Record| {
            record.key().is_some_and(|key| latest.get(key).is_none_or(|latest| latest.offset < record.offset()))
        };
        latest::put(self.shared, self.name, batch.records.iter().filter(is_missing), WithText::Yes).await?;
        let mut cleaned: HashMap<Offset, EpochMs> = batch.cleaned.iter().copied().collect();
        let known = cleaned.len();
        let mut kept = Vec::with_capacity(batch.records.len());
        let mut gone_keys = Vec::new();
        for record in &batch.records {
            match self.judge(record, &latest, &cleaned) {
                Verdict::Keep => {}
                Verdict::KeepForGrace => {
                    cleaned.entry(record.offset()).or_insert(self.now);
                }
                Verdict::Replaced => continue,
                Verdict::TombstoneOver => {
                    gone_keys.extend(record.key().map(|key| (key, record.offset())));
                    continue;
                }
            }
            kept.push(record.clone());
        }
        if kept.len() == batch.records.len() && cleaned.len() == known {
            return Ok(Cleaned::AsItWas);
        }
        if kept.len() < batch.records.len() && !self.may_remove().await {
            return Ok(Cleaned::NotNow);
        }
        if !self.rewrite(batch, &kept, cleaned).await? {
            return Ok(Cleaned::NotNow);
        }
        for (key, offset) in gone_keys {
            latest::forget(self.shared, self.name, key, offset).await?;
        }
        Ok(Cleaned::Rewritten(kept))
    }

    fn judge(&self, record: &Record, latest: &HashMap<String, Latest>, cleaned: &HashMap<Offset, EpochMs>) -> Verdict {
        let Some(key) = record.key() else {
            // From before compaction was turned on: nothing can replace it.
            return Verdict::Keep;
        };
        let Some(latest) = latest.get(key) else {
            return Verdict::Keep;
        };
        let (offset, before) = (record.offset(), self.plan.before);
        let by_latest = || latest.offset > offset && latest.offset < before;
        if offset < before && self.keys.has_replaced(key, offset).unwrap_or_else(by_latest) {
            return Verdict::Replaced;
        }
        if latest.offset != offset || offset >= before || !record.is_tombstone() {
            return Verdict::Keep;
        }
        match cleaned.get(&record.offset()) {
            Some(cleaned_at) if self.now - cleaned_at > self.grace_ms => Verdict::TombstoneOver,
            _ => Verdict::KeepForGrace,
        }
    }

    /// Writes the batch back without the dropped events. `false`: it has changed since it was read.
    async fn rewrite(
        &self,
        batch: &StoredBatch,
        kept: &[Record],
        cleaned: HashMap<Offset, EpochMs>,
    ) -> Result<bool, StoreError> {
        let head = &batch.head;
        let mut cleaned: Vec<_> = cleaned.into_iter().collect();
        cleaned.sort_unstable();
        let plan = BatchPlan {
            log: self.name,
            base: head.base,
            next: head.next,
            records: kept,
            cleaned: &cleaned,
            last_ts: head.last_ts,
            total: head.total,
            start: self.start,
            by: head.by,
            attempt: head.attempt,
            at: Some(head.at),
            end: false,
        };
        let document = plan.document().map_err(|_| unreadable(format!("a batch of {}", self.name)))?;
        let filter = || {
            let mut filter = queries::own_batch(self.name, head.base, head.by, head.attempt);
            filter.insert("next", head.next as i64);
            filter.insert("count", head.count as i32);
            filter
        };
        let batches = &self.shared.collections.batches;
        let replaced = self.shared.read(|| async { batches.replace_one(filter(), &document).await }).await?;
        Ok(replaced.matched_count == 1)
    }
}

/// What became of a batch.
enum Cleaned {
    AsItWas,
    /// With these records.
    Rewritten(Vec<Record>),
    /// It is too young, or was changed meanwhile: it waits for another pass.
    NotNow,
}

enum Verdict {
    Keep,
    /// A tombstone that is the latest event of its key: readers must be able to see it for a while.
    KeepForGrace,
    Replaced,
    TombstoneOver,
}
