//! A job as it is stored: what was asked for, how far it is, and how it stands.
//!
//! Jobs are keyed so that the newest comes first. `letter_jobs_active` names those that a hub has to do something for.

use prom_engine::{Bus, UnitOfWork};
use prom_store::{DocumentWrite, Expect};
use prom_types::{EpochMs, EventId, Json, Offset, TopicName};
use serde::{Deserialize, Serialize};

use super::super::book::{parse, text};
use super::super::filter::LetterFilter;
use crate::{JobError, UnfitEvent};

const JOBS: &str = "letter_jobs";
const ACTIVE: &str = "letter_jobs_active";

/// What is done with letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LetterWork {
    /// Their events are published again, for every group.
    ToTopic,
    /// Their events are handed out again to the group that gave up on them, and to no other.
    ToGroup,
    /// They are taken out of every list and count; keys that they hold go on.
    Purge,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LetterOrder {
    /// The topic of the originals.
    pub topic: TopicName,
    /// What is done.
    pub work: LetterWork,
    /// With which letters.
    pub filter: LetterFilter,
    /// With how many at most, the oldest first.
    pub limit: u64,
    /// A jq program from event to event. No output leaves the letter as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transform: Option<String>,
    /// The payload that the event gets instead of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    /// Letters whose event cannot be made or is refused are left as they are; otherwise the first one stops the job.
    #[serde(default)]
    pub skip_unfit: bool,
    /// Events a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    /// So many first, and the rest only if these were acked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<u64>,
    /// The job stops when more than this share of the events whose outcome is known died again, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_on_failure: Option<u8>,
    /// The subject who asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// How a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LetterJobState {
    /// It works.
    Running,
    /// The canary was handed out, and not all of it is settled.
    Canary,
    /// Somebody paused it.
    Paused,
    /// It stopped by itself; the reason says why. It can be resumed.
    Stopped,
    /// Everything was handed out.
    Done,
    /// Somebody ended it.
    Cancelled,
}

/// A job over letters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LetterJob {
    /// Its id.
    pub id: EventId,
    /// What was asked for.
    pub order: LetterOrder,
    /// When.
    pub created_ts: EpochMs,
    /// When it last did something.
    pub updated_ts: EpochMs,
    /// How it stands.
    pub state: LetterJobState,
    /// Why it stopped, or what it has trouble with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Letters that matched so far.
    pub matched: u64,
    /// Letters whose events were handed out, or that were purged.
    pub replayed: u64,
    /// Letters that matched and were left as they are.
    pub skipped: u64,
    /// Events that the group has settled since.
    pub acked: u64,
    /// Events that died again.
    pub dead: u64,
    /// Where the next step begins, in each partition of the letters.
    pub(super) next: Vec<Offset>,
    /// Where the letters ended when the job was made.
    pub(super) until: Vec<Offset>,
    /// The canary was acked.
    pub(super) canary_passed: bool,
    /// Blocks with events whose outcome was not counted: partition, first block, end.
    #[serde(default)]
    pub(super) open: Vec<(u32, u64, u64)>,
}

/// A job with its document's revision.
#[derive(Debug, Clone)]
pub(super) struct StoredJob {
    pub job: LetterJob,
    pub revision: u64,
}

impl LetterOrder {
    /// What becomes of letters whose event cannot be made or is refused.
    pub(super) fn unfit(&self) -> UnfitEvent {
        if self.skip_unfit { UnfitEvent::Skip } else { UnfitEvent::Stop }
    }
}

impl LetterJob {
    pub(super) fn new(id: EventId, order: LetterOrder, now: EpochMs, until: Vec<Offset>) -> Self {
        Self {
            id,
            order,
            created_ts: now,
            updated_ts: now,
            state: LetterJobState::Running,
            reason: None,
            matched: 0,
            replayed: 0,
            skipped: 0,
            acked: 0,
            dead: 0,
            next: vec![0; until.len()],
            until,
            canary_passed: false,
            open: Vec::new(),
        }
    }

    /// Events that were handed out and whose outcome is not known.
    pub fn waiting(&self) -> u64 {
        match self.order.work {
            LetterWork::ToTopic | LetterWork::ToGroup => self.replayed.saturating_sub(self.acked + self.dead),
            LetterWork::Purge => 0,
        }
    }

    /// Offsets that are left to look at.
    pub fn left(&self) -> u64 {
        if matches!(self.state, LetterJobState::Done | LetterJobState::Cancelled) {
            return 0;
        }
        self.next.iter().zip(&self.until).map(|(next, until)| until.saturating_sub(*next)).sum()
    }

    /// Nothing is handed out any more, unless somebody resumes it.
    pub fn is_at_rest(&self) -> bool {
        !matches!(self.state, LetterJobState::Running | LetterJobState::Canary)
    }

    /// Whether a hub has to do something for it: hand out, or count outcomes.
    pub(super) fn is_active(&self) -> bool {
        !self.is_at_rest() || !self.open.is_empty()
    }

    /// A block in which events were handed out.
    pub(super) fn opened(&mut self, partition: u32, block: u64) {
        match self.open.last_mut() {
            Some((known, _, end)) if *known == partition && *end >= block => *end = (*end).max(block + 1),
            _ => self.open.push((partition, block, block + 1)),
        }
    }

    /// All outcomes of a block are counted.
    pub(super) fn closed(&mut self, partition: u32, block: u64) {
        let mut left = Vec::with_capacity(self.open.len() + 1);
        for &(known, from, end) in &self.open {
            if known != partition || !(from..end).contains(&block) {
                left.push((known, from, end));
                continue;
            }
            left.extend(
                [(known, from, block), (known, block + 1, end)].into_iter().filter(|(_, from, end)| from < end),
            );
        }
        self.open = left;
    }
}

impl StoredJob {
    pub async fn load(bus: &Bus, id: EventId) -> Result<Option<Self>, JobError> {
        let stored = bus.document(JOBS, &key(id)).await?;
        stored.map(|stored| Ok(Self { job: parse(&stored.value)?, revision: stored.revision })).transpose()
    }

    /// Into the commit of what it did. Refused if somebody else has written it since.
    pub fn write_into(&self, work: &mut UnitOfWork) -> Result<(), JobError> {
        let put = DocumentWrite::put(JOBS, &key(self.job.id), text(&self.job)?);
        work.write(put.expecting(Expect::Revision(self.revision)));
        let id = self.job.id.to_string();
        work.write(match self.job.is_active() {
            true => DocumentWrite::put(ACTIVE, &id, "{}"),
            false => DocumentWrite::delete(ACTIVE, &id),
        });
        Ok(())
    }
}

/// The newest jobs, those after `after` where it is given.
pub(super) async fn list(bus: &Bus, after: Option<EventId>, limit: usize) -> Result<Vec<LetterJob>, JobError> {
    let after = after.map(key);
    let found = bus.documents(JOBS, after.as_deref(), limit).await?;
    found.into_iter().map(|document| parse(&document.value)).collect()
}

/// Jobs that a hub has to do something for.
pub(super) async fn active(bus: &Bus, limit: usize) -> Result<Vec<EventId>, JobError> {
    let found = bus.documents(ACTIVE, None, limit).await?;
    Ok(found.into_iter().filter_map(|document| EventId::parse(&document.key).ok()).collect())
}

/// Ids begin with their time; with every bit turned over, the newest is the first.
fn key(id: EventId) -> String {
    id.as_bytes().iter().map(|byte| format!("{:02x}", !byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> LetterJob {
        let order = LetterOrder {
            topic: TopicName::parse("orders").unwrap(),
            work: LetterWork::ToTopic,
            filter: LetterFilter::default(),
            limit: 10,
            transform: None,
            payload: None,
            skip_unfit: false,
            rate: None,
            canary: None,
            stop_on_failure: None,
            by: None,
        };
        LetterJob::new(EventId::derived("a"), order, 0, vec![10])
    }

    #[test]
    fn open_blocks_are_few_ranges() {
        let mut job = job();
        for block in [0, 0, 1, 2, 4, 5] {
            job.opened(0, block);
        }
        job.opened(1, 0);
        assert_eq!(job.open, [(0, 0, 3), (0, 4, 6), (1, 0, 1)]);
        job.closed(0, 1);
        job.closed(0, 5);
        job.closed(0, 9);
        assert_eq!(job.open, [(0, 0, 1), (0, 2, 3), (0, 4, 5), (1, 0, 1)]);
        [(0, 0), (0, 2), (0, 4), (1, 0)].into_iter().for_each(|(partition, block)| job.closed(partition, block));
        assert!(job.open.is_empty());
    }

    #[test]
    fn the_newest_job_is_the_first() {
        let ids = prom_types::IdMaker::new();
        let (older, newer) = (ids.make(1), ids.make(2));
        assert!(key(newer) < key(older));
    }
}
