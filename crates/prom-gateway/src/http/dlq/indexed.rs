//! Letters that a program takes, found by a declared index where there is one that answers it.

use prom_jobs::{IndexedPlaces, PlacesAsked};
use prom_types::{EpochMs, TopicName};

use crate::http::api::Api;
use crate::http::problem::Problem;

/// Places of letters, by partition and offset, and the expression of the index that knows them.
pub(super) type LetterPlaces = (Option<Vec<(u32, u64)>>, Option<String>);

/// Where the letters may lie that a program takes. No places where no index answers, or more than `most` are found: then all
/// letters are looked at. A program that cannot be compiled is refused here.
pub(super) async fn indexed(
    api: &Api,
    topic: &TopicName,
    jq: &str,
    from_ts: Option<EpochMs>,
    most: usize,
) -> Result<LetterPlaces, Problem> {
    let bus = &api.hub.bus;
    bus.compile_program(jq).await.map_err(|error| Problem::field("jq", error))?;
    let asked = PlacesAsked { topic, jq, from_ts, to_ts: None, most };
    let found = api.hub.indexes.letter_places(bus, asked).await?;
    Ok(match found {
        Some(IndexedPlaces { expression, places }) => (Some(places), Some(expression)),
        None => (None, None),
    })
}
