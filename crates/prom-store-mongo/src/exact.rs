//! Exact ids: known as long as their event is retained, through a separate index.

use mongodb::bson::{Bson, Document, doc};
use mongodb::error::Error;
use prom_store::{LogName, Record, StoreError, Stored, StoredAt};
use prom_types::{EventId, Offset};

use crate::codec::{StoredBatch, binary_id};
use crate::commit::ExactPlaces;
use crate::fault::unreadable;
use crate::log::{LogHandle, ensure_loaded};
use crate::names::Collections;
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

/// Removes the ids of hidden events from the index, in all partitions of the topic: those that `records` need again.
pub async fn forget_trimmed(shared: &MongoShared, log: &LogHandle, records: &[Record]) -> Result<(), StoreError> {
    let ids: Vec<EventId> = records.iter().filter(|record| record.is_exact()).map(Record::id).collect();
    for found in find(shared, log, &ids).await? {
        let holder = shared.log(&LogName::new(log.name.topic.clone(), found.partition));
        ensure_loaded(shared, &holder).await?;
        if found.place.offset < holder.bounds().start {
            let batch = || vec![queries::batch_key(&holder.name, found.base).into()];
            shared.read(|| forget(&shared.collections, batch(), binary_id(found.id).into())).await?;
        }
    }
    crate::log::reload(shared, &shared.log(&log.name)).await
}

/// Where several partitions of a topic hold an id, only the event that was stored first keeps it as an exact one.
pub async fn keep_first(collections: &Collections) -> Result<(), Error> {
    let repeated = [
        doc! { "$match": { "exact": { "$exists": true } } },
        doc! { "$unwind": "$exact" },
        doc! { "$sort": { "stored_ts": 1, "_id": 1 } },
        doc! { "$group": { "_id": { "topic": "$topic", "id": "$exact" }, "batches": { "$push": "$_id" } } },
        doc! { "$match": { "batches.1": { "$exists": true } } },
    ];
    let mut repeated = collections.batches.aggregate(repeated).allow_disk_use(true).with_type::<Document>().await?;
    while repeated.advance().await? {
        let mut found = repeated.deserialize_current()?;
        let id = found.get_document("_id").ok().and_then(|key| key.get("id")).cloned();
        if let (Some(id), Some(Bson::Array(batches))) = (id, found.remove("batches")) {
            forget(collections, batches.into_iter().skip(1).collect(), id).await?;
        }
    }
    Ok(())
}

/// These batches hold the id as a usual one from now on. A list that becomes empty goes: the index would take it for a value, which
/// only one batch may have.
async fn forget(collections: &Collections, batches: Vec<Bson>, id: Bson) -> Result<(), Error> {
    let rest = doc! { "$setDifference": ["$exact", [id]] };
    let or_nothing = doc! { "$cond": [{ "$eq": ["$$rest", []] }, "$$REMOVE", "$$rest"] };
    let change = doc! { "$set": { "exact": { "$let": { "vars": { "rest": rest }, "in": or_nothing } } } };
    let filter = doc! { "_id": { "$in": batches }, "exact": { "$exists": true } };
    collections.batches.update_many(filter, vec![change]).await?;
    Ok(())
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
