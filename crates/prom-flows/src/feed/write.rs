//! Publishing changes: events, dead letters and gaps in one unit of work with the position behind them.

use std::collections::BTreeMap;

use prom_engine::{Bus, Error, ErrorKind, JudgedEvent, UnitOfWork};
use prom_types::{GroupName, NewEvent, TopicName};

use super::convert::{ChangeMark, ChangeOutcome, ConvertedChange, FeedEvent};
use super::error::FeedError;
use super::limits::{UNIT_BYTES, UNIT_EVENTS};
use super::options::{FeedOptions, OnUnfit};
use super::position::{HeldPosition, StoppedFeed, StreamPlace};
use super::status::{FeedProgress, PublishedChanges};

/// What publishes the changes of a feed.
pub(crate) struct FeedWriter<'a> {
    pub bus: &'a Bus,
    pub options: &'a FeedOptions,
    pub progress: &'a FeedProgress,
    pub held: &'a mut HeldPosition,
}

/// A unit on its way to its commit.
struct FilledUnit {
    work: UnitOfWork,
    bytes: usize,
    events: usize,
    changes: PublishedChanges,
}

/// An event with the verdict of its topic's schemas.
type Judged = Result<JudgedEvent, Error>;

impl FeedWriter<'_> {
    /// Publishes changes, in as many commits as their size asks for. `idle` is where the stream is behind them.
    pub async fn publish(&mut self, changes: Vec<ConvertedChange>, idle: Option<String>) -> Result<(), FeedError> {
        let mut judged = self.judge(&changes).await?;
        let mut unit = self.unit();
        for change in changes {
            let verdicts = match &change.outcome {
                ChangeOutcome::Events(events) => judged.drain(..events.len()).collect(),
                _ => Vec::new(),
            };
            if unit.is_full(&change) {
                let full = std::mem::replace(&mut unit, self.unit());
                self.commit(full).await?;
            }
            match self.add(&mut unit, &change, verdicts).await? {
                Ok(()) => self.pass(&mut unit, change),
                Err(reason) => return self.stop(unit, &change, reason).await,
            }
        }
        if let Some(token) = idle {
            let now_ms = StreamPlace::After(token.clone()).time().map(|time| time.millis());
            self.held.position.at = StreamPlace::After(token);
            self.held.position.time_ms = now_ms.max(self.held.position.time_ms);
        }
        self.commit(unit).await
    }

    /// What the schemas say of each event, in order.
    async fn judge(&self, changes: &[ConvertedChange]) -> Result<Vec<Judged>, FeedError> {
        let events = || {
            changes.iter().flat_map(|change| match &change.outcome {
                ChangeOutcome::Events(events) => events.as_slice(),
                _ => &[],
            })
        };
        let mut by_topic: BTreeMap<TopicName, Vec<NewEvent>> = BTreeMap::new();
        for FeedEvent { event, .. } in events() {
            by_topic.entry(event.topic.clone()).or_default().push(event.clone());
        }
        let mut verdicts = BTreeMap::new();
        for (topic, events) in by_topic {
            let judged = self.bus.judge_in_background(&topic, events).await?;
            verdicts.insert(topic, judged.into_iter());
        }
        let next = |event: &FeedEvent| verdicts.get_mut(&event.event.topic).and_then(Iterator::next);
        Ok(events().map(next).map(|verdict| verdict.unwrap_or(Err(Error::Closed))).collect())
    }

    /// Adds what comes of a change. The inner error says why the feed has to stop before it.
    async fn add(
        &self,
        unit: &mut FilledUnit,
        change: &ConvertedChange,
        verdicts: Vec<Judged>,
    ) -> Result<Result<(), String>, FeedError> {
        match &change.outcome {
            ChangeOutcome::Events(events) => {
                for (event, verdict) in events.iter().zip(verdicts) {
                    if let Err(reason) = self.add_event(unit, event, verdict)? {
                        return Ok(Err(reason));
                    }
                }
                Ok(Ok(()))
            }
            ChangeOutcome::Gaps(gaps) => {
                for (topic, gap) in gaps {
                    gap.add_to(&mut unit.work, self.bus, &self.options.name, topic).await?;
                }
                Ok(Ok(()))
            }
            ChangeOutcome::NoTopic { reason } => Ok(Err(reason.clone())),
            ChangeOutcome::Unfit { event, reason } => self.refused(unit, event, reason.clone()),
        }
    }

    fn add_event(
        &self,
        unit: &mut FilledUnit,
        event: &FeedEvent,
        verdict: Judged,
    ) -> Result<Result<(), String>, FeedError> {
        if let Some(reason) = &event.letter {
            self.add_letter(unit, &event.event, reason)?;
            return Ok(Ok(()));
        }
        match verdict.and_then(|judged| unit.work.publish_checked(&judged)) {
            Ok(()) => {
                unit.bytes += event.event.payload.as_bytes().len();
                unit.events += 1;
                Ok(Ok(()))
            }
            Err(refusal) if refusal.kind() == ErrorKind::BadRequest => {
                self.refused(unit, &event.event, refusal.to_string())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn refused(
        &self,
        unit: &mut FilledUnit,
        event: &NewEvent,
        reason: String,
    ) -> Result<Result<(), String>, FeedError> {
        match self.options.on_unfit {
            OnUnfit::Stop => Ok(Err(reason)),
            OnUnfit::DeadLetter => self.add_letter(unit, event, &reason).map(Ok),
        }
    }

    fn add_letter(&self, unit: &mut FilledUnit, event: &NewEvent, reason: &str) -> Result<(), FeedError> {
        let by = GroupName::parse(&format!("feed:{}", self.options.name))?;
        unit.work.publish_letter(&by, event, reason)?;
        unit.events += 1;
        unit.changes.counts.failed += 1;
        Ok(())
    }

    /// The change is in the unit; the position stands behind it.
    fn pass(&mut self, unit: &mut FilledUnit, change: ConvertedChange) {
        unit.changes.counts.read += 1;
        if matches!(&change.outcome, ChangeOutcome::Events(events) if events.is_empty()) {
            unit.changes.counts.skipped += 1;
        }
        unit.changes.committed_ms.extend(change.at_ms);
        self.held.position.time_ms = change.at_ms.or(self.held.position.time_ms);
        match change.mark {
            ChangeMark::Token(token) => self.held.position.at = StreamPlace::After(token),
            ChangeMark::Copied(id) => {
                if let Some(copy) = &mut self.held.position.copy {
                    copy.last = Some(id);
                    copy.copied += 1;
                }
            }
        }
    }

    /// Commits what came before the change, and that the feed waits for an operator.
    async fn stop(&mut self, unit: FilledUnit, change: &ConvertedChange, reason: String) -> Result<(), FeedError> {
        let behind = match &change.mark {
            ChangeMark::Token(token) => format!(
                "mend the map, the schema or the document and `prom feeds restart {0}`, or leave the change out with \
                 `prom feeds seek {0} --at {token}`",
                self.options.name
            ),
            ChangeMark::Copied(_) => {
                format!("mend the map, the schema or the document and `prom feeds restart {}`", self.options.name)
            }
        };
        let reason = format!("a change cannot be published: {reason}; {behind}");
        let since = self.bus.clock().now_ms();
        self.held.position.stopped = Some(StoppedFeed { reason: reason.clone(), since });
        self.commit(unit).await?;
        Err(FeedError::Stopped { reason, since, revision: self.held.revision() })
    }

    async fn commit(&mut self, unit: FilledUnit) -> Result<(), FeedError> {
        let mut changes = unit.changes;
        changes.counts.written += self.held.commit(unit.work).await? as u64;
        let now = self.bus.clock().now_ms();
        self.progress.published(&changes, &self.held.position, now);
        Ok(())
    }

    fn unit(&self) -> FilledUnit {
        FilledUnit { work: self.bus.unit_of_work(), bytes: 0, events: 0, changes: PublishedChanges::default() }
    }
}

impl FilledUnit {
    /// Whether a change has to go into the next one.
    fn is_full(&self, change: &ConvertedChange) -> bool {
        let ChangeOutcome::Events(events) = &change.outcome else {
            return false;
        };
        let bytes: usize = events.iter().map(|event| event.event.payload.as_bytes().len()).sum();
        self.events > 0 && (self.events + events.len() > UNIT_EVENTS || self.bytes + bytes > UNIT_BYTES)
    }
}
