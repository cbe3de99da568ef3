//! Leases by the server's clock: `{ _id: name, holder, fence, until }`, taken and extended in one step.

use std::time::Duration;

use mongodb::bson::{Bson, DateTime, Document, doc};
use mongodb::options::ReturnDocument;
use prom_store::{StoreError, StoreLease};

use crate::fault::{self, FailedWrite};
use crate::options::LeaseClock;
use crate::queries;
use crate::shared::MongoShared;

pub async fn acquire(
    shared: &MongoShared,
    name: &str,
    holder: &str,
    ttl: Duration,
) -> Result<Option<StoreLease>, StoreError> {
    shared.check_open()?;
    let update = take_or_extend(shared, holder, ttl);
    let found = shared
        .read(|| async {
            let take = shared.collections.leases.find_one_and_update(doc! { "_id": name }, update.clone());
            match take.upsert(true).return_document(ReturnDocument::After).await {
                // Two hubs created it at once: the second reads what the first wrote.
                Err(error) if fault::of_write(&error) == FailedWrite::Duplicate => Err(fault::timed_out()),
                found => found,
            }
        })
        .await?
        .unwrap_or_default();
    let is_ours = found.get_str("holder").is_ok_and(|now| now == holder);
    let fence = found.get_i64("fence").unwrap_or(0).unsigned_abs();
    Ok(is_ours.then(|| StoreLease { name: name.to_owned(), holder: holder.to_owned(), fence }))
}

fn take_or_extend(shared: &MongoShared, holder: &str, ttl: Duration) -> Vec<Document> {
    let ttl_ms = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX / 2);
    let now = now(shared);
    let until = doc! { "$add": [now.clone(), ttl_ms] };
    let is_live = doc! { "$gt": ["$until", now] };
    let is_ours = doc! { "$eq": ["$holder", { "$literal": holder }] };
    let fence = doc! { "$add": [{ "$ifNull": ["$fence", 0i64] }, 1i64] };
    vec![doc! { "$set": {
        "until": { "$cond": [{ "$and": [is_live.clone(), { "$not": [is_ours] }] }, "$until", until] },
        "fence": { "$cond": [is_live.clone(), "$fence", fence] },
        "holder": { "$cond": [is_live, "$holder", { "$literal": holder }] },
    } }]
}

fn now(shared: &MongoShared) -> Bson {
    match shared.options.lease_clock {
        LeaseClock::Server => "$$NOW".into(),
        LeaseClock::Given => {
            let now = shared.options.clock.monotonic().as_millis();
            DateTime::from_millis(i64::try_from(now).unwrap_or(i64::MAX)).into()
        }
    }
}

/// Looks the lease up by its name, which is the key. The server's clock decides whether it still holds.
pub async fn held(shared: &MongoShared, name: &str) -> Result<Option<StoreLease>, StoreError> {
    shared.check_open()?;
    let held = || queries::held_lease(name, now(shared)).filter;
    let found = shared.read(|| async { shared.collections.leases.find_one(held()).await }).await?;
    Ok(found.map(|found| StoreLease {
        name: name.to_owned(),
        holder: found.get_str("holder").unwrap_or_default().to_owned(),
        fence: found.get_i64("fence").unwrap_or(0).unsigned_abs(),
    }))
}

pub async fn release(shared: &MongoShared, lease: &StoreLease) -> Result<(), StoreError> {
    shared.check_open()?;
    let filter = || doc! { "_id": &lease.name, "holder": &lease.holder, "fence": lease.fence as i64 };
    let over = || doc! { "$set": { "until": DateTime::from_millis(i64::MIN / 2) } };
    shared.read(|| async { shared.collections.leases.update_one(filter(), over()).await }).await?;
    Ok(())
}
