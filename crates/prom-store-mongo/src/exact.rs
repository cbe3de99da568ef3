//! Exact ids: known for as long as their event is retained, by an index of their own.

use prom_store::{Record, StoreError};
use prom_types::{EventId, Offset};

use crate::codec::{Batch, binary_id};
use crate::commit::ExactPlaces;
use crate::commit::pull_exact;
use crate::fault::unreadable;
use crate::log::{LogState, Place};
use crate::queries;
use crate::shared::{Shared, all};

/// Where those of the ids are that are retained.
pub async fn places(shared: &Shared, log: &LogState, ids: Vec<EventId>) -> Result<ExactPlaces, StoreError> {
    if ids.is_empty() {
        return Ok(ExactPlaces::default());
    }
    let start = log.bounds().start;
    let found = find(shared, log, &ids).await?;
    let retained = found.into_iter().filter(|(_, _, place)| place.offset >= start);
    Ok(retained.map(|(id, _, place)| (id, place)).collect())
}

/// Takes those ids of the records out of the index whose events retention has taken out of sight.
pub async fn forget_trimmed(shared: &Shared, log: &LogState, records: &[Record]) -> Result<(), StoreError> {
    let ids: Vec<EventId> = records.iter().filter(|record| record.is_exact()).map(Record::id).collect();
    let start = log.bounds().start;
    for (id, base, place) in find(shared, log, &ids).await? {
        if place.offset < start {
            pull_exact(shared, log, base, vec![binary_id(id)]).await?;
        }
    }
    crate::log::reload(shared, &shared.log(&log.name)).await
}

/// Each with the batch it is in.
async fn find(shared: &Shared, log: &LogState, ids: &[EventId]) -> Result<Vec<(EventId, Offset, Place)>, StoreError> {
    let wanted: hashbrown::HashSet<EventId> = ids.iter().copied().collect();
    let documents = shared
        .read(async || {
            let query = queries::exact_ids(&log.name, ids);
            let find = shared.collections.batches.find(query.filter).projection(query.projection);
            all(find.await?).await
        })
        .await?;
    let mut found = Vec::new();
    for document in documents {
        let batch = Batch::read_ids(&document).ok().zip(Batch::base_of(&document));
        let (ids, base) = batch.ok_or_else(|| unreadable(format!("a batch of {}", log.name)))?;
        let of_interest = ids.into_iter().filter(|(id, ..)| wanted.contains(id));
        found.extend(of_interest.map(|(id, offset, stored_ts)| (id, base, Place { offset, stored_ts })));
    }
    Ok(found)
}
