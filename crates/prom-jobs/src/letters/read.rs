//! Reading letters that the index has found, few at a time.

use std::collections::BTreeMap;

use prom_engine::{Bus, StoredEvent};
use prom_store::ReadLimit;
use prom_types::{Offset, TopicName};

use crate::JobError;
use crate::limits::STEP_BYTES;

/// Letters this close to each other are read in one go.
const NEAR: Offset = 8;

/// The letters at these places, as far as they are still there and can be read.
pub(super) async fn read_places(
    bus: &Bus,
    letters: &TopicName,
    mut places: Vec<(u32, Offset)>,
) -> Result<BTreeMap<(u32, Offset), StoredEvent>, JobError> {
    places.sort_unstable();
    let mut found = BTreeMap::new();
    let is_near = |a: &(u32, Offset), b: &(u32, Offset)| a.0 == b.0 && b.1 - a.1 <= NEAR;
    for run in places.chunk_by(is_near) {
        let (Some((partition, first)), Some((_, last))) = (run.first().copied(), run.last()) else {
            continue;
        };
        let mut next = first;
        while next <= *last {
            let events = usize::try_from(last - next + 1).unwrap_or(usize::MAX);
            let page = bus.read(letters, partition, next, ReadLimit { events, bytes: STEP_BYTES }).await?;
            let wanted = |event: &StoredEvent| run.binary_search(&(partition, event.offset())).is_ok();
            found.extend(page.events.into_iter().filter(wanted).map(|event| ((partition, event.offset()), event)));
            if page.next <= next {
                break;
            }
            next = page.next;
        }
    }
    Ok(found)
}
