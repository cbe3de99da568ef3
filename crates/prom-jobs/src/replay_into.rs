//! Bulk replay: the events of a topic once more, through a jq program, into another topic.
//!
//! ```text
//!   orders.placed 0 … n ─▶ program: none, one or several events each ─┬▶ orders.eu     id, key, headers and time stay
//!                                                                     └▶ how far it is, in the same commit
//! ```
//!
//! Promises: each step stores its events and its progress together, and every event goes under an exact id that follows from the
//! original's, so a replay that is stopped anywhere and run again leaves neither a hole nor a double. A run ends where the topic
//! ended when it began. Programs run on threads that may be kept busy.

use prom_engine::{BETWEEN_TOPICS as COLLECTION, BeyondEnd, Bus, Error, JudgedEvent, Program, StoredEvent, UnitOfWork};
use prom_store::{DocumentWrite, Expect};
use prom_types::{Event, EventId, Headers, Invalid, Json, NewEvent, Position, TopicName};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::limits::{REPLAY_OUTPUTS, STEP_WRITTEN_BYTES};
use crate::source::{JobSource, about_the_event, at, unreadable};
use crate::{JobError, UnfitEvent};

/// What is replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayPlan {
    /// The topic whose events are read.
    pub topic: TopicName,
    /// The topic that they go to.
    pub target: TopicName,
    /// A jq program from event to events.
    pub transform: Option<String>,
    /// Where the first run begins.
    pub from: Position,
    /// What becomes of events that cannot be made or are refused.
    pub unfit: UnfitEvent,
}

/// How far a bulk replay is. This is also what is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayProgress {
    /// Where the next step reads, in each partition.
    pub next: Vec<u64>,
    /// Events read.
    pub read: u64,
    /// Events handed to the target. Some of them may have been there.
    pub sent: u64,
    /// Events read of which the program made none.
    pub left_out: u64,
    /// Events read that cannot be made or were refused.
    pub skipped: u64,
    /// Events that exist and cannot be read.
    pub unreadable: u64,
    /// Events left to read, as far as offsets tell.
    pub left: u64,
    /// Everything that was there when this run began is over.
    pub done: bool,
}

/// A bulk replay under way.
pub struct ReplayInto {
    source: JobSource,
    plan: ReplayPlan,
    program: Option<Program>,
    partitions: TargetPartitions,
    progress: ReplayProgress,
    /// Of the document that holds the progress.
    revision: u64,
}

/// Where events go in the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetPartitions {
    /// It has as many, and they stay in theirs.
    AsSource,
    /// Their keys decide.
    ByKey,
}

/// What became of an event that was read.
enum Replayed {
    Sent(u64),
    Unfit(String),
    /// The step was full.
    NotYet,
}

/// The unit of a step while programs fill it.
struct FilledUnit {
    work: UnitOfWork,
    bytes: usize,
    is_full: bool,
}

impl ReplayInto {
    /// Begins, or goes on with the same plan. The audit trail tells who did.
    pub async fn start(bus: &Bus, plan: ReplayPlan) -> Result<Self, JobError> {
        let ReplayPlan { topic, target, from, .. } = &plan;
        if target.is_reserved() {
            return Err(Invalid::ReservedTopic { name: target.to_string() }.into());
        }
        if target == topic {
            let reason = "it is the topic itself".to_owned();
            return Err(JobError::Target { topic: topic.clone(), target: target.to_string(), reason });
        }
        let source = JobSource::open(bus, topic.clone()).await?;
        let program = match &plan.transform {
            Some(text) => Some(bus.compile_program(text).await?),
            None => None,
        };
        let of_source = bus.topic_settings(topic).await?.partitions;
        let partitions = match bus.topic_settings(target).await {
            Ok(settings) if settings.partitions == of_source => TargetPartitions::AsSource,
            Ok(_) | Err(Error::UnknownTopic { .. }) => TargetPartitions::ByKey,
            Err(error) => return Err(error.into()),
        };
        let stored = bus.document(COLLECTION, &key(&plan)).await?;
        let revision = stored.as_ref().map_or(0, |stored| stored.revision);
        let mut progress = match stored {
            Some(stored) => serde_json::from_slice(&stored.value)
                .map_err(|error| JobError::Progress { reason: error.to_string() })?,
            None => ReplayProgress {
                next: bus.offsets(topic, *from, BeyondEnd::Allow).await?.0,
                ..ReplayProgress::default()
            },
        };
        progress.left = source.left(&progress.next).await?;
        progress.done = source.is_done(&progress.next);
        let mut replay = Self { source, plan, program, partitions, progress, revision };
        let mut work = bus.unit_of_work();
        let ReplayPlan { topic, target, transform, from, .. } = &replay.plan;
        let details = json!({ "topic": topic.as_str(), "to": target.as_str(), "transform": transform,
            "from": from.to_string(), "read_before": replay.progress.read });
        work.audit("replay", details)?;
        let after = replay.progress.clone();
        replay.commit(work, after).await?;
        Ok(replay)
    }

    /// What it does.
    pub fn plan(&self) -> &ReplayPlan {
        &self.plan
    }

    /// How far it is.
    pub fn progress(&self) -> &ReplayProgress {
        &self.progress
    }

    /// Replays some more events, together with the progress.
    pub async fn step(&mut self) -> Result<&ReplayProgress, JobError> {
        if self.progress.done {
            return Ok(&self.progress);
        }
        let from = self.progress.next.clone();
        let page = self.source.read(&from).await?;
        if let (Some(damage), UnfitEvent::Stop) = (page.damage.first(), self.plan.unfit) {
            let reason = damage.to_string();
            return Err(JobError::Unreadable { topic: self.plan.topic.clone(), reason });
        }
        let mut after = self.progress.clone();
        after.unreadable += unreadable(&page.damage);
        after.next = page.next.0;
        let (work, replayed) = self.fill(&page.events).await?;
        for (event, replayed) in page.events.iter().zip(replayed) {
            match replayed {
                Replayed::Sent(0) => after.left_out += 1,
                Replayed::Sent(events) => after.sent += events,
                Replayed::Unfit(_) if self.plan.unfit == UnfitEvent::Skip => after.skipped += 1,
                Replayed::Unfit(reason) => {
                    return Err(JobError::UnfitReplay {
                        topic: self.plan.topic.clone(),
                        id: event.id().to_string(),
                        partition: event.partition(),
                        offset: event.offset(),
                        reason,
                    });
                }
                Replayed::NotYet => {
                    cut(&mut after.next, &from, event);
                    break;
                }
            }
            after.read += 1;
        }
        after.left = self.source.left(&after.next).await?;
        after.done = self.source.is_done(&after.next);
        self.commit(work, after).await?;
        self.source.stepped();
        Ok(&self.progress)
    }

    /// Runs the program over the events, has what it makes judged, and adds it, as much as fits.
    async fn fill(&self, events: &[StoredEvent]) -> Result<(UnitOfWork, Vec<Replayed>), JobError> {
        let (bus, target, partitions) = (&self.source.bus, self.plan.target.clone(), self.partitions);
        let program = self.program.clone();
        let each = move |event: StoredEvent| made_of(&event, program.as_ref(), &target, partitions);
        let made = bus.in_turns(events.to_vec(), each).await?;
        let all = made.iter().flatten().flatten().cloned().collect();
        let mut judged = bus.judge_in_background(&self.plan.target, all).await?.into_iter();
        let mut unit = FilledUnit { work: bus.unit_of_work(), bytes: 0, is_full: false };
        let mut replayed = Vec::with_capacity(made.len());
        for made in made {
            // Those of each event are taken out of the row, whatever becomes of them.
            let made = made.map(|made| judged.by_ref().take(made.len()).collect::<Vec<_>>());
            if unit.is_full {
                replayed.push(Replayed::NotYet);
                continue;
            }
            let added = match made {
                Ok(judged) => self.add(&mut unit, judged)?,
                Err(reason) => Replayed::Unfit(reason),
            };
            let ends = matches!(added, Replayed::Unfit(_)) && self.plan.unfit == UnfitEvent::Stop;
            unit.is_full = ends || unit.bytes >= STEP_WRITTEN_BYTES;
            replayed.push(added);
        }
        Ok((unit.work, replayed))
    }

    /// All events that one became, or none of them.
    fn add(&self, unit: &mut FilledUnit, judged: Vec<Result<JudgedEvent, Error>>) -> Result<Replayed, JobError> {
        match publish_all(&self.source.bus, unit, judged) {
            Ok(events) => Ok(Replayed::Sent(events)),
            Err(refusal) => about_the_event(refusal).map(Replayed::Unfit),
        }
    }

    async fn commit(&mut self, mut work: UnitOfWork, after: ReplayProgress) -> Result<(), JobError> {
        let text = serde_json::to_vec(&after).map_err(|error| JobError::Progress { reason: error.to_string() })?;
        let document = DocumentWrite::put(COLLECTION, &key(&self.plan), text);
        work.write(document.expecting(Expect::Revision(self.revision)));
        match work.commit().await {
            Ok(_) => {
                (self.progress, self.revision) = (after, self.revision + 1);
                Ok(())
            }
            Err(Error::Conflict { .. }) => {
                Err(JobError::Running { topic: self.plan.topic.clone(), target: self.plan.target.to_string() })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// All of them or none: what is in a unit stays there, so several are tried in another one first.
fn publish_all(bus: &Bus, unit: &mut FilledUnit, judged: Vec<Result<JudgedEvent, Error>>) -> Result<u64, Error> {
    let judged: Vec<JudgedEvent> = judged.into_iter().collect::<Result<_, Error>>()?;
    if judged.len() > 1 {
        let mut trial = bus.unit_of_work();
        judged.iter().try_for_each(|event| trial.publish_checked(event))?;
    }
    for event in &judged {
        unit.work.publish_checked(event)?;
        unit.bytes += event.event().payload.as_bytes().len();
    }
    Ok(judged.len() as u64)
}

/// The same plan has the same progress: where it comes from and goes to, what is made of it, and where it began.
fn key(plan: &ReplayPlan) -> String {
    let ReplayPlan { topic, target, transform, from, .. } = plan;
    let made_by = EventId::derived(&format!("{from} {}", transform.as_deref().unwrap_or_default()));
    // With the target goes what is known of it.
    format!("{made_by}:{topic}>{target}")
}

/// The step ends before this event, and the next one begins with it.
fn cut(next: &mut [u64], from: &[u64], first_left: &StoredEvent) {
    let partition = first_left.partition() as usize;
    for (later, next) in next.iter_mut().enumerate().skip(partition) {
        *next = if later == partition { first_left.offset() } else { at(from, later) };
    }
}

/// The events in the target. Runs a program: not for a thread that serves others.
fn made_of(
    event: &StoredEvent,
    program: Option<&Program>,
    target: &TopicName,
    partitions: TargetPartitions,
) -> Result<Vec<NewEvent>, String> {
    let whole = event.to_event().map_err(|error| error.to_string())?;
    let partition = (partitions == TargetPartitions::AsSource).then_some(whole.partition);
    let Some(program) = program else {
        let Event { id, ts, key, headers, tags, caused_by, sid, payload, .. } = whole;
        let event = NewEvent::new(target.clone(), payload);
        return Ok(vec![NewEvent {
            id: Some(id),
            exact: true,
            ts: Some(ts),
            key,
            headers,
            tags,
            caused_by,
            sid,
            partition,
            ..event
        }]);
    };
    let mut text = Vec::new();
    event.write_json(&mut text);
    let outputs = program.run(&text).map_err(|error| format!("the transform failed: {error}"))?;
    if outputs.len() > REPLAY_OUTPUTS {
        return Err(format!("the transform made {} events, and one becomes {REPLAY_OUTPUTS} at most", outputs.len()));
    }
    let made = outputs.iter().enumerate().map(|(number, output)| {
        let ProgramEvent { key, headers, payload } = read_output(output)?;
        let id = if number == 0 { whole.id } else { EventId::derived(&format!("replay:{}:{number}", whole.id)) };
        // Another key may belong into another partition.
        let partition = partition.filter(|_| key == whole.key);
        Ok(NewEvent {
            id: Some(id),
            exact: true,
            ts: Some(whole.ts),
            key,
            headers,
            tags: whole.tags.clone(),
            caused_by: whole.caused_by.clone(),
            sid: whole.sid.clone(),
            partition,
            ..NewEvent::new(target.clone(), payload)
        })
    });
    made.collect()
}

/// What counts of an event that a program made.
#[derive(Deserialize)]
struct ProgramEvent {
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    headers: Headers,
    payload: Json,
}

fn read_output(output: &[u8]) -> Result<ProgramEvent, String> {
    serde_json::from_slice(output).map_err(|error| {
        let text: String = String::from_utf8_lossy(output).chars().take(80).collect();
        format!(
            "the transform made {text}, which is no event ({error}); change the event in place, as in .payload.x = 1"
        )
    })
}
