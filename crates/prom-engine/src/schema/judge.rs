//! Judging events before they come into a unit of work, for long work in the background.

use prom_types::{NewEvent, TopicName};

use super::compiled::CompiledTopic;
use super::register::stopped;
use crate::filter::{Lane, ProgramTurn};
use crate::{Bus, Error};

/// An event that the schemas of its topic have judged, with its stamp.
#[derive(Debug, Clone)]
pub struct JudgedEvent(NewEvent);

impl JudgedEvent {
    /// As it will be published.
    pub fn event(&self) -> &NewEvent {
        &self.0
    }
}

impl Bus {
    /// Judges events of one topic where nobody waits for the thread; results in their order. Nothing is stored.
    pub async fn judge_in_background(
        &self,
        topic: &TopicName,
        events: Vec<NewEvent>,
    ) -> Result<Vec<Result<JudgedEvent, Error>>, Error> {
        let core = self.core();
        let Some(compiled) = core.schema_loader().compiled(topic).await? else {
            return Ok(events.into_iter().map(|event| Ok(JudgedEvent(event))).collect());
        };
        let mut judged = Vec::with_capacity(events.len());
        let mut rest = events;
        while !rest.is_empty() {
            let compiled = compiled.clone();
            let judge = move || judge_for_a_turn(&compiled, rest);
            let (done, left) = core.filter_places.run_in(Lane::Background, judge).await.ok_or_else(stopped)?;
            judged.extend(done);
            rest = left;
        }
        Ok(judged)
    }
}

/// At least one event, and those that are left when the turn is over.
fn judge_for_a_turn(
    compiled: &CompiledTopic,
    events: Vec<NewEvent>,
) -> (Vec<Result<JudgedEvent, Error>>, Vec<NewEvent>) {
    let turn = ProgramTurn::begin();
    let mut judged = Vec::with_capacity(events.len());
    let mut events = events.into_iter();
    for event in events.by_ref() {
        judged.push(compiled.stamp(&event).map(|stamped| JudgedEvent(stamped.unwrap_or(event))));
        if turn.is_over() {
            break;
        }
    }
    (judged, events.collect())
}
