//! Random steps: commits over several logs, cursors and documents; trims; takeovers.

use bytes::Bytes;
use prom_store::{
    Append, Commit, CursorChange, CursorName, Dedupe, DocumentWrite, EncodedEvent, Expect, Failures, LogName,
    LogOptions,
};
use prom_testkit::Random;
use prom_types::{EventId, GroupName, Json, NewEvent, Offset, TopicName};

use super::model::{Model, ModelEvent};

pub const COLLECTION: &str = "facts";
/// Written by every commit, so that each leaves a trace.
const COUNTER: &str = "counter";

/// A durable operation on a store.
#[derive(Debug, Clone)]
pub enum PlanStep {
    Commit(CommitPlan),
    Trim(LogName, Offset),
    Take(CursorName),
}

/// The contents of a commit.
#[derive(Debug, Clone, Default)]
pub struct CommitPlan {
    pub logs: Vec<(LogName, LogOptions)>,
    pub events: Vec<(LogName, ModelEvent)>,
    pub cursors: Vec<(CursorName, CursorChange)>,
    /// `None` deletes.
    pub documents: Vec<(String, Option<Bytes>)>,
}

pub fn plain_logs() -> Vec<LogName> {
    let log = |(topic, partition)| LogName::new(TopicName::parse(topic).unwrap(), partition);
    [("a", 0), ("a", 1), ("b", 0), ("c", 0)].map(log).to_vec()
}

pub fn compacted_log() -> LogName {
    LogName::new(TopicName::parse("state").unwrap(), 0)
}

pub fn cursors() -> Vec<CursorName> {
    let group = |name| GroupName::parse(name).unwrap();
    let logs = plain_logs();
    vec![CursorName::new(logs[0].clone(), group("one")), CursorName::new(logs[2].clone(), group("two"))]
}

impl CommitPlan {
    /// A commit that fits a store as `now` describes it. `number` makes its ids and values unique.
    pub fn draw(random: &mut Random, number: u64, now: &Model) -> Self {
        let mut plan = Self::default();
        let counter = Bytes::from(number.to_string());
        plan.documents.push((COUNTER.to_owned(), Some(counter)));
        for part in 0..random.within(0..4) {
            plan.events.push(draw_event(random, number, part, now));
        }
        let compacted = compacted_log();
        if plan.events.iter().any(|(log, _)| *log == compacted) && !now.logs.contains_key(&compacted) {
            plan.logs.push((compacted, LogOptions { compacted: true, versions: false }));
        }
        for cursor in cursors() {
            if random.one_in(3) {
                plan.cursors.extend(draw_change(random, cursor, now));
            }
        }
        if random.one_in(2) {
            let key = format!("document-{}", random.within(0..5));
            let value = Bytes::from(vec![b'x'; random.index(200)]);
            plan.documents.push((key, (!random.one_in(4)).then_some(value)));
        }
        plan
    }

    pub fn to_commit(&self) -> Commit {
        let append = |(log, event): &(LogName, ModelEvent)| {
            let mut new = NewEvent::new(log.topic.clone(), Json::trusted(event.payload.clone()));
            new.key.clone_from(&event.key);
            Append {
                log: log.clone(),
                event: EncodedEvent::encode(&new, event.id, 0).unwrap(),
                dedupe: Dedupe::Window,
                terms: None,
            }
        };
        let document = |(key, value): &(String, Option<Bytes>)| DocumentWrite {
            collection: COLLECTION.to_owned(),
            key: key.clone(),
            value: value.clone(),
            expect: Expect::Anything,
        };
        Commit {
            appends: self.events.iter().map(append).collect(),
            cursors: self.cursors.clone(),
            documents: self.documents.iter().map(document).collect(),
            logs: self.logs.clone(),
            ends: Vec::new(),
            places: Vec::new(),
        }
    }
}

fn draw_event(random: &mut Random, number: u64, part: u64, now: &Model) -> (LogName, ModelEvent) {
    let length = if random.one_in(20) { random.index(9_000) } else { random.index(500) };
    let payload = Bytes::from(format!("\"{number}.{part} {}\"", "y".repeat(length)));
    let id = EventId::derived(&format!("{number}.{part}"));
    if random.one_in(4) {
        let key = Some(format!("key-{}", random.within(0..12)));
        return (compacted_log(), ModelEvent { id, key, payload });
    }
    let log = random.pick(&plain_logs()).cloned().unwrap();
    let stored = now.logs.get(&log).map(|log| &log.events);
    // Now and then a publisher sends an earlier event again.
    let again = stored.filter(|_| random.one_in(8)).and_then(|events| {
        let all: Vec<_> = events.values().collect();
        random.pick(&all).map(|event| (*event).clone())
    });
    let event = again.unwrap_or(ModelEvent { id, key: None, payload });
    (log, event)
}

fn draw_change(random: &mut Random, name: CursorName, now: &Model) -> Option<(CursorName, CursorChange)> {
    let state = now.cursors.get(&name)?;
    let next = now.logs.get(&name.log).map_or(0, |log| log.bounds.next);
    if random.one_in(40) {
        let floor = random.within(0..next + 1);
        return Some((name, CursorChange::Reset { floor }));
    }
    let mut settled = Vec::new();
    let mut failures = Vec::new();
    for _ in 0..random.within(1..4) {
        let from = random.within(state.floor..next.max(state.floor));
        if from >= next {
            continue;
        }
        if random.one_in(3) {
            let known = state.failures.get(&from).map_or(0, |it| it.attempts);
            let failure =
                Failures { attempts: known + 1, returns: 0, reason: random.one_in(2).then(|| "no luck".to_owned()) };
            failures.push((from, failure));
        } else {
            settled.push(from..(from + random.within(1..6)).min(next))
        }
    }
    let epoch = state.epoch;
    let change = CursorChange::Settle { epoch, settled, failures };
    Some((name, change))
}
