//! Which events an export has, and how they look to the one who asks.

use std::collections::VecDeque;
use std::sync::Arc;

use prom_engine::{Bus, Error, SearchCriteria, StoredEvent, TopicMask};
use prom_jobs::{IndexedPlaces, PlacesAsked};
use prom_protocol::http::export::ExportQuery;
use prom_types::Offset;

use crate::Hub;
use crate::http::limits::EXPORT_INDEXED;
use crate::http::problem::Problem;

pub(super) struct ExportChoice {
    mask: Option<Arc<TopicMask>>,
    criteria: SearchCriteria,
    /// Where a declared index found them, by partition and offset; `None` where everything is read.
    places: Option<VecDeque<(u32, Offset)>>,
}

impl ExportChoice {
    pub async fn of(hub: &Hub, query: &ExportQuery, mask: Option<Arc<TopicMask>>) -> Result<Self, Problem> {
        let ExportQuery { topic, from_ts, to_ts, jq, .. } = query;
        let Some(jq) = jq else {
            return Ok(Self { mask, criteria: SearchCriteria::default(), places: None });
        };
        let program = hub.bus.compile_program(jq).await.map_err(|error| Problem::field("jq", error))?;
        let asked = PlacesAsked { topic, jq, from_ts: *from_ts, to_ts: *to_ts, most: EXPORT_INDEXED };
        // An index knows what is hidden.
        let found = if mask.is_some() { None } else { hub.indexes.places(&hub.bus, asked).await? };
        let places = found.map(|IndexedPlaces { places, .. }| places.into());
        Ok(Self { mask, criteria: SearchCriteria { program: Some(program), ..SearchCriteria::default() }, places })
    }

    /// Where the next event may lie that is wanted, from an offset of a partition on; the same offset where nothing is known of that,
    /// `None` where there is none.
    pub fn next(&mut self, partition: u32, from: Offset) -> Option<Offset> {
        let Some(places) = &mut self.places else { return Some(from) };
        while places.front().is_some_and(|place| *place < (partition, from)) {
            places.pop_front();
        }
        places.front().filter(|place| place.0 == partition).map(|place| place.1)
    }

    /// How many events lie together from there on, at most as many as one reads at once.
    pub fn run(&self, from: Offset, most: usize) -> usize {
        let Some(places) = &self.places else { return most };
        let follows = |(at, place): &(u64, &(u32, Offset))| place.1 == from + at;
        (0..).zip(places).take(most).take_while(follows).count().max(1)
    }

    /// Those that are wanted, as they are seen. Programs run where nobody waits for them.
    pub async fn sift(&self, bus: &Bus, events: Vec<StoredEvent>) -> Result<Vec<StoredEvent>, Error> {
        let seen = match &self.mask {
            Some(mask) => events.into_iter().map(|event| mask.seen(event)).collect(),
            None => events,
        };
        match self.criteria.program {
            Some(_) => bus.matching(&self.criteria, seen).await,
            None => Ok(seen),
        }
    }
}
