//! Exact ids: known as long as their event is retained, through a separate index.

use prom_store::{Record, StoreError, StoredAt};
use prom_types::{EventId, Offset};

use crate::codec::{StoredBatch, binary_id};
use crate::commit::ExactPlaces;
use crate::commit::pull_exact;
use crate::fault::unreadable;
use crate::log::LogHandle;
use crate::queries;
use crate::shared::{MongoShared, all};

/// Where the retained ones of these ids are stored.
pub async fn places(shared: &MongoShared, log: &LogHandle, ids: Vec<EventId>) -> Result<ExactPlaces, StoreError> {
    if ids.is_empty() {
        return Ok(ExactPlaces::default());
    }
    let start = log.bounds().start;
    let found = find(shared, log, &ids).await?;
    let retained = found.into_iter().filter(|(_, _, place)| place.offset >= start);
    Ok(retained.map(|(id, _, place)| (id, place)).collect())
}

/// Removes the ids of hidden events from the index: those that `records` need again.
pub async fn forget_trimmed(shared: &MongoShared, log: &LogHandle, records: &[Record]) -> Result<(), StoreError> {
    let ids: Vec<EventId> = records.iter().filter(|record| record.is_exact()).map(Record::id).collect();
    let start = log.bounds().start;
    for (id, base, place) in find(shared, log, &ids).await? {
        if place.offset < start {
            pull_exact(shared, log, base, vec![binary_id(id)]).await?;
        }
    }
    crate::log::reload(shared, &shared.log(&log.name)).await
}

/// Each with the base of its batch.
async fn find(
    shared: &MongoShared,
    log: &LogHandle,
    ids: &[EventId],
) -> Result<Vec<(EventId, Offset, StoredAt)>, StoreError> {
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
        let batch = StoredBatch::read_ids(&document).ok().zip(StoredBatch::base_of(&document));
        let (ids, base) = batch.ok_or_else(|| unreadable(format!("a batch of {}", log.name)))?;
        let of_interest = ids.into_iter().filter(|(id, ..)| wanted.contains(id));
        found.extend(of_interest.map(|(id, at)| (id, base, at)));
    }
    Ok(found)
}
