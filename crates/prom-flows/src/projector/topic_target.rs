//! States of things that report themselves, as events of another topic: each report is a state, and a thing that falls silent has a
//! last one.
//!
//! ```text
//!   heartbeat.received ─▶ key, map ─▶ process.state  alive ─┐
//!                                  …silence…   stale ◀──────┤ what was heard last, by key: a document in `heard.NAME`
//! ```
//!
//! States, what was heard, and the cursor are one commit, so each report is one state, whatever happens to the hub. Silence counts
//! from when a report was stored, by the hub's clock, and only once everything that was reported is taken. Documents hold what is
//! heard at the moment; what fell silent is forgotten until it reports again.

use std::collections::{BTreeSet, HashMap};

use async_trait::async_trait;
use prom_engine::{Bus, ErrorKind, HeldBatch, UnitOfWork};
use prom_jobs::CollectionInfo;
use prom_store::DocumentWrite;
use prom_types::{EpochMs, EventId, Json, NewEvent, TopicName};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::error::ProjectError;
use super::limits::{HEARD_AT_ONCE, HEARD_MOST};
use super::settings::Silence;
use super::target::{AppliedBatch, ProjectedBatch, ProjectionTarget, StateChange, TargetSide};

pub(crate) struct TopicTarget {
    bus: Bus,
    name: String,
    into: TopicName,
    silence: Option<Silence>,
    /// What is heard at the moment, as it is stored.
    heard: HashMap<String, Heard>,
    /// When each was heard, and its key.
    order: BTreeSet<(EpochMs, String)>,
    /// What becomes of them once the unit of work is stored.
    next: Vec<(String, Option<Heard>)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Heard {
    at: EpochMs,
    cause: EventId,
    state: Box<RawValue>,
}

impl TopicTarget {
    pub fn new(bus: Bus, name: String, into: TopicName, silence: Option<Silence>) -> Self {
        Self { bus, name, into, silence, heard: HashMap::new(), order: BTreeSet::new(), next: Vec::new() }
    }

    fn documents(&self) -> String {
        format!("heard.{}", self.name)
    }

    fn publish(&self, key: &str, state: Json, cause: EventId, work: &mut UnitOfWork) -> Result<(), ProjectError> {
        let event =
            NewEvent { key: Some(key.to_owned()), caused_by: vec![cause], ..NewEvent::new(self.into.clone(), state) };
        work.publish(&event).map_err(|error| match error.kind() {
            ErrorKind::BadRequest => ProjectError::Unfit(format!("{} does not take the state: {error}", self.into)),
            _ => error.into(),
        })
    }

    fn add(&mut self, change: &StateChange, work: &mut UnitOfWork) -> Result<(), ProjectError> {
        let state = change.state.clone().unwrap_or_else(|| RawValue::NULL.to_owned());
        let text =
            Json::parse(state.get().as_bytes().to_vec()).map_err(|error| ProjectError::Unfit(error.to_string()))?;
        self.publish(&change.key, text, change.cause, work)?;
        if self.silence.is_none() {
            return Ok(());
        }
        let heard = change.state.clone().map(|state| Heard { at: change.heard, cause: change.cause, state });
        work.write(match &heard {
            Some(heard) => DocumentWrite::put(&self.documents(), &change.key, text_of(heard)?),
            None => DocumentWrite::delete(&self.documents(), &change.key),
        });
        self.next.push((change.key.clone(), heard));
        Ok(())
    }

    fn remember(&mut self, key: String, heard: Option<Heard>) {
        if let Some(before) = self.heard.remove(&key) {
            self.order.remove(&(before.at, key.clone()));
        }
        if let Some(heard) = heard {
            self.order.insert((heard.at, key.clone()));
            self.heard.insert(key, heard);
        }
    }

    async fn load(&mut self) -> Result<(), ProjectError> {
        self.heard.clear();
        self.order.clear();
        let mut after: Option<String> = None;
        loop {
            let page = self.bus.documents(&self.documents(), after.as_deref(), HEARD_AT_ONCE).await?;
            for document in &page {
                let heard = serde_json::from_slice(&document.value).map_err(|error| {
                    ProjectError::Stopped(format!("the document {}/{}: {error}", self.documents(), document.key))
                })?;
                self.remember(document.key.clone(), Some(heard));
            }
            if page.len() < HEARD_AT_ONCE {
                return Ok(());
            }
            after = page.last().map(|last| last.key.clone());
        }
    }
}

#[async_trait]
impl ProjectionTarget for TopicTarget {
    async fn open(&mut self, _beside: Option<&[CollectionInfo]>) -> Result<(), ProjectError> {
        self.next.clear();
        if self.silence.is_some() { self.load().await } else { Ok(()) }
    }

    async fn apply(
        &mut self,
        _side: TargetSide,
        batch: &ProjectedBatch,
        _read: &HeldBatch,
        work: &mut UnitOfWork,
    ) -> Result<AppliedBatch, ProjectError> {
        self.next.clear();
        let ProjectedBatch::States(changes) = batch else {
            return Err(ProjectError::Stopped("states are expected".to_owned()));
        };
        if self.silence.is_some() && self.heard.len() + changes.len() > HEARD_MOST {
            return Err(ProjectError::Stopped(format!("more than {HEARD_MOST} things report at the same time")));
        }
        for change in changes {
            self.add(change, work)?;
        }
        Ok(AppliedBatch { written: changes.len() as u64, older: 0 })
    }

    fn committed(&mut self, _side: TargetSide) {
        for (key, heard) in std::mem::take(&mut self.next) {
            self.remember(key, heard);
        }
    }

    fn next_due(&self) -> Option<EpochMs> {
        let after_ms = i64::try_from(self.silence.as_ref()?.after.as_millis()).unwrap_or(i64::MAX);
        self.order.first().map(|(heard, _)| heard.saturating_add(after_ms))
    }

    async fn due(&mut self, now: EpochMs, work: &mut UnitOfWork) -> Result<u64, ProjectError> {
        self.next.clear();
        let Some(silence) = self.silence.clone() else { return Ok(0) };
        let after_ms = i64::try_from(silence.after.as_millis()).unwrap_or(i64::MAX);
        let is_silent = |at: EpochMs| at.saturating_add(after_ms) <= now;
        let silent: Vec<String> = self
            .order
            .iter()
            .take_while(|(at, _)| is_silent(*at))
            .take(HEARD_AT_ONCE)
            .map(|(_, key)| key.clone())
            .collect();
        let known = silent.into_iter().filter_map(|key| Some((self.heard.get(&key)?.clone(), key)));
        let known: Vec<(Heard, String)> = known.collect();
        let last = move |(heard, key): (Heard, String)| {
            let state = (silence.last_state)(heard.state.get().as_bytes());
            (heard, key, state)
        };
        let mut done = 0;
        for (heard, key, state) in self.bus.in_turns(known, last).await? {
            let published = state.map_err(ProjectError::Unfit).and_then(|state| {
                let state = Json::parse(state).map_err(|error| ProjectError::Unfit(error.to_string()))?;
                self.publish(&key, state, heard.cause, work)
            });
            match published {
                // Nobody can put it right later: the thing is silent.
                Err(ProjectError::Unfit(reason)) => {
                    tracing::error!(projector = %self.name, key, reason, "a silent thing has no last state and is forgotten")
                }
                published => published?,
            }
            work.write(DocumentWrite::delete(&self.documents(), &key));
            self.next.push((key, None));
            done += 1;
        }
        Ok(done)
    }

    async fn begin_beside(&mut self) -> Result<(), ProjectError> {
        Err(ProjectError::Stopped("the events of a topic are not made anew".to_owned()))
    }

    fn beside(&self) -> Vec<CollectionInfo> {
        Vec::new()
    }

    async fn swap(&mut self, _work: &mut UnitOfWork) -> Result<(), ProjectError> {
        self.begin_beside().await
    }
}

fn text_of(heard: &Heard) -> Result<Vec<u8>, ProjectError> {
    serde_json::to_vec(heard).map_err(|error: serde_json::Error| ProjectError::Stopped(error.to_string()))
}
