//! The group's filter: what was read waits for its verdict while the dispatcher goes on with everything else.
//!
//! An event that the filter fails on is condemned to the dead letters. A filter that fails on many is wrong, or costs too
//! much: then it is suspended, nothing more is condemned, and it is tried again after a wait.

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use prom_store::Record;
use prom_transform::Program;
use prom_types::Offset;

use super::{DispatchTask, Retry};
use crate::dispatch::ScannedEvent;
use crate::filter::{Judged, Unjudged, Verdict};
use crate::limits::{FILTER_CLEAN, FILTER_STRIKES, FIRST_SUSPENSION, LONGEST_SUSPENSION};

pub(super) struct Filtering {
    program: Program,
    under_way: Option<Judging>,
    /// Failures with fewer than [`FILTER_CLEAN`] events between them.
    strikes: u32,
    /// Events since the last failure.
    clean: u32,
    last_failure: String,
    retry: Retry,
}

struct Judging {
    from: Offset,
    /// Where the next read begins.
    next: Offset,
    judged: BoxFuture<'static, Option<Judged>>,
}

impl Filtering {
    pub fn new(program: Program) -> Self {
        Self { program, under_way: None, strikes: 0, clean: 0, last_failure: String::new(), retry: Retry::default() }
    }

    /// Nothing more is read until it has judged what was.
    pub fn is_busy(&self) -> bool {
        self.under_way.is_some() || self.retry.must_wait()
    }

    /// Forgets what is being judged: the cursor was moved.
    pub fn clear(&mut self) {
        self.under_way = None;
        self.retry.not_before = None;
    }

    pub fn elapse(&mut self, now: Duration) {
        self.retry.elapse(now);
    }

    pub fn not_before(&self) -> Option<Duration> {
        self.retry.not_before
    }

    /// Ready when a turn is over; never while there is none. Can be dropped and called again.
    pub async fn done(filtering: &mut Option<Self>) -> Option<Judged> {
        match filtering.as_mut().and_then(|filtering| filtering.under_way.as_mut()) {
            Some(under_way) => (&mut under_way.judged).await,
            None => std::future::pending().await,
        }
    }

    /// One line for people, while it is suspended.
    pub fn suspension(&self, now: Duration) -> Option<String> {
        let wait = self.retry.not_before?.saturating_sub(now);
        Some(format!(
            "its filter keeps failing (the last time: {}) and is suspended for another {:.1} s; use another group with another \
             filter, or move the cursor past these events",
            self.last_failure,
            wait.as_secs_f32()
        ))
    }

    fn count(&mut self, verdicts: &[Verdict]) {
        for verdict in verdicts {
            match verdict {
                Ok(_) => self.clean = self.clean.saturating_add(1),
                Err(reason) => {
                    self.strikes += 1;
                    self.clean = 0;
                    self.last_failure.clone_from(reason);
                }
            }
            if self.clean >= FILTER_CLEAN {
                self.strikes = 0;
                self.retry.succeeded();
            }
        }
    }
}

impl DispatchTask {
    /// Hands events over to be judged. `next` is where the log goes on after them.
    pub(super) fn start_judging(&mut self, from: Offset, next: Offset, records: Vec<Record>) {
        let Some(filtering) = &mut self.filtering else {
            return;
        };
        let (core, group, program) = (self.core.clone(), self.group.clone(), filtering.program.clone());
        let failures = FILTER_STRIKES.saturating_sub(filtering.strikes).max(1);
        let log = self.cursor.log.clone();
        let judged = async move {
            let mask = core.mask_of(&log.topic).await.ok()?;
            let unjudged = Unjudged { log, records, mask, failures };
            core.filter_places.judge(&group.filters, &program, unjudged).await
        };
        filtering.under_way = Some(Judging { from, next, judged: judged.boxed() });
    }

    /// A turn is over: tells the machine what is wanted, and goes on with the rest.
    pub(super) fn judged(&mut self, judged: Option<Judged>) {
        let now = self.now();
        let Some(filtering) = &mut self.filtering else {
            return;
        };
        let Some(Judging { from, next, .. }) = filtering.under_way.take() else {
            return;
        };
        let Some(Judged { mut records, mut verdicts }) = judged else {
            "the filter's thread was stopped".clone_into(&mut filtering.last_failure);
            filtering.retry.failed(now);
            return;
        };
        filtering.count(&verdicts);
        let is_suspended = filtering.strikes >= FILTER_STRIKES && filtering.clean == 0;
        if is_suspended {
            let wait = filtering.retry.failed_between(now, FIRST_SUSPENSION, LONGEST_SUSPENSION);
            let reason = &filtering.last_failure;
            tracing::warn!(cursor = %self.cursor, reason, ?wait, "the filter keeps failing and is suspended");
            // They are read and judged again when it is tried again.
            while verdicts.pop_if(|verdict| verdict.is_err()).is_some() {}
        }
        let rest = records.split_off(verdicts.len());
        let judged_to = rest.first().map_or(next, |first| first.offset());
        let mut seen = Vec::with_capacity(records.len());
        for (record, verdict) in records.into_iter().zip(verdicts) {
            let wanted = verdict.unwrap_or_else(|reason| self.condemn(&record, &reason));
            seen.push(self.scanned_event(&record, wanted));
            if wanted {
                self.records.push(record);
            }
        }
        self.records.tell_bytes();
        self.machine.scanned(from, judged_to, seen);
        if !is_suspended && !rest.is_empty() {
            self.start_judging(judged_to, next, rest);
        }
    }

    pub(super) fn scanned_event(&self, record: &Record, wanted: bool) -> ScannedEvent {
        ScannedEvent {
            offset: record.offset(),
            key_hash: self.ordering_hash(record),
            lane: self.lane_of(record),
            wanted,
        }
    }

    /// A filter that fails on an event says nothing about it: it is kept, and condemned.
    fn condemn(&mut self, record: &Record, reason: &str) -> bool {
        let reason = format!("the filter failed: {reason}");
        tracing::warn!(cursor = %self.cursor, offset = record.offset(), %reason);
        // Letters have no letters: there the event is delivered instead.
        if !self.cursor.log.topic.is_dead_letters() {
            self.condemned.insert(record.offset(), reason);
        }
        true
    }
}
