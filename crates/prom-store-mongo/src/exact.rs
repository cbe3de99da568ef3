//! Exact ids: known as long as their event is retained, through a separate index.

use prom_store::{LogName, Record, StoreError, Stored, StoredAt};
use prom_types::{EventId, Offset};

use crate::codec::{StoredBatch, binary_id};
use crate::commit::ExactPlaces;
use crate::commit::pull_exact;
use crate::fault::unreadable;
use crate::log::{LogHandle, ensure_loaded};
use crate::queries;
use crate::shared::{MongoShared, all};

/// What a repetition of the retained ones of these ids is answered, whichever partition of the topic has them.
pub async fn places(shared: &MongoShared, log: &LogHandle, ids: Vec<EventId>) -> Result<ExactPlaces, StoreError> {
    let mut places = ExactPlaces::default();
    if ids.is_empty() {
        return Ok(places);
    }
    for found in find(shared, log, &ids).await? {
        let holder = shared.log(&LogName::new(log.name.topic.clone(), found.partition));
        ensure_loaded(shared, &holder).await?;
        if found.place.offset >= holder.bounds().start {
            let elsewhere = Some(found.partition).filter(|partition| *partition != log.name.partition);
            places.insert(found.id, Stored { duplicate: true, elsewhere, ..found.place.into() });
        }
    }
    Ok(places)
}

/// Removes the ids of hidden events from the index: those that `records` need again.
pub async fn forget_trimmed(shared: &MongoShared, log: &LogHandle, records: &[Record]) -> Result<(), StoreError> {
    let ids: Vec<EventId> = records.iter().filter(|record| record.is_exact()).map(Record::id).collect();
    let start = log.bounds().start;
    let here = |found: &FoundId| found.partition == log.name.partition;
    for found in find(shared, log, &ids).await?.into_iter().filter(here) {
        if found.place.offset < start {
            pull_exact(shared, log, found.base, vec![binary_id(found.id)]).await?;
        }
    }
    crate::log::reload(shared, &shared.log(&log.name)).await
}

/// An exact id in a batch.
struct FoundId {
    id: EventId,
    partition: u32,
    /// Of the batch.
    base: Offset,
    place: StoredAt,
}

/// In all partitions of the log's topic.
async fn find(shared: &MongoShared, log: &LogHandle, ids: &[EventId]) -> Result<Vec<FoundId>, StoreError> {
    let wanted: hashbrown::HashSet<EventId> = ids.iter().copied().collect();
    let documents = shared
        .read(async || {
            let query = queries::exact_ids(&log.name.topic, ids);
            let find = shared.collections.batches.find(query.filter).projection(query.projection);
            all(find.await?).await
        })
        .await?;
    let mut found = Vec::new();
    for document in documents {
        let place = StoredBatch::partition_of(&document).zip(StoredBatch::base_of(&document));
        let batch = StoredBatch::read_ids(&document).ok().zip(place);
        let (ids, (partition, base)) = batch.ok_or_else(|| unreadable(format!("a batch of {}", log.name.topic)))?;
        let of_interest = ids.into_iter().filter(|(id, ..)| wanted.contains(id));
        found.extend(of_interest.map(|(id, place)| FoundId { id, partition, base, place }));
    }
    Ok(found)
}
