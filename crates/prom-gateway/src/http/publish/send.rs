//! Handing events to the bus, after rights and rates.

use hashbrown::HashMap;
use prom_auth::Action;
use prom_engine::Error;
use prom_types::{NewEvent, Receipt};

use crate::Hub;
use crate::http::caller::Caller;
use crate::http::problem::Problem;
use crate::trace::TracedPublishes;

pub(super) async fn send_one(hub: &Hub, caller: &Caller, event: NewEvent) -> Result<Receipt, Problem> {
    admit(hub, caller, &event)?;
    let traced = TracedPublishes::of(hub, [&event]);
    let published = caller.bus(hub).publish_event(event).await;
    traced.ended(published.as_ref().err());
    Ok(published?)
}

/// Each is independent: a refused one changes nothing for the others. Results come in their order.
pub(crate) async fn send_each(
    hub: &Hub,
    caller: &Caller,
    items: Vec<Result<NewEvent, Problem>>,
) -> Vec<Result<Receipt, Problem>> {
    let mut results = Vec::with_capacity(items.len());
    let mut events = Vec::with_capacity(items.len());
    let mut places = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let admitted = item.and_then(|event| admit(hub, caller, &event).map(|()| event));
        results.push(match admitted {
            Ok(event) => {
                events.push(event);
                places.push(index);
                None
            }
            Err(problem) => Some(Err(problem.at(index))),
        });
    }
    let traced = TracedPublishes::of(hub, &events);
    let sent = caller.bus(hub).publish_many(events).await;
    traced.ended(sent.iter().find_map(|result| result.as_ref().err()));
    for (index, result) in places.into_iter().zip(sent) {
        results[index] = Some(result.map_err(|error| Problem::from(error).at(index)));
    }
    results.into_iter().flatten().collect()
}

/// All of them or none. The problem names the first item at fault where one item is.
pub(super) async fn send_all_or_none(
    hub: &Hub,
    caller: &Caller,
    items: Vec<Result<NewEvent, Problem>>,
) -> Result<Vec<Receipt>, Problem> {
    let mut events = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let event = item.map_err(|problem| problem.at(index))?;
        may_publish(hub, caller, &event).map_err(|problem| problem.at(index))?;
        events.push(event);
    }
    caller.take_rates(hub, &per_topic(&events))?;
    let traced = TracedPublishes::of(hub, &events);
    let published = caller.bus(hub).publish_batch(events).await;
    traced.ended(published.as_ref().err());
    published.map_err(|error| {
        let index = if let Error::Unmet { index, .. } = &error { Some(*index) } else { None };
        let problem = Problem::from(error);
        match index {
            Some(index) => problem.at(index),
            None => problem,
        }
    })
}

/// How many events each topic has.
fn per_topic(events: &[NewEvent]) -> Vec<(&str, usize)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    events.iter().for_each(|event| *counts.entry(&event.topic).or_default() += 1);
    counts.into_iter().collect()
}

fn admit(hub: &Hub, caller: &Caller, event: &NewEvent) -> Result<(), Problem> {
    may_publish(hub, caller, event)?;
    caller.take_rate(hub, &event.topic, 1)?;
    Ok(())
}

/// A caller that asks for a copy needs the right to the topic it goes to.
fn may_publish(hub: &Hub, caller: &Caller, event: &NewEvent) -> Result<(), Problem> {
    caller.may(Action::Publish, &event.topic)?;
    hub.copies_of(event)?.iter().try_for_each(|copy| caller.may(Action::Publish, copy))
}
