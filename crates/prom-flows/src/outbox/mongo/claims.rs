//! Leases of buckets in MongoDB: `<collection>_claims`, a document for each bucket and each hub.
//!
//! The server's clock measures them. Taking one is an update that compares the old lease: of two hubs one matches.

use std::time::Duration;

use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use mongodb::error::ErrorKind;
use mongodb::options::UpdateModifications;
use mongodb::{Client, Collection};

use super::super::buckets::{BucketSet, ClaimPart, ClaimedPart, bucket_id, hub_id};
use super::super::error::SourceError;
use super::super::source::{BucketWish, HubPresence};

/// What MongoDB calls an id that is there already.
const DUPLICATE_KEY: i32 = 11000;
/// A hub that is gone for this long is forgotten.
const FORGOTTEN_MS: i64 = 60 * 60 * 1000;

pub struct BucketLeases(Collection<Document>);

impl BucketLeases {
    /// Makes what is missing.
    pub async fn open(rows: &Collection<RawDocumentBuf>) -> Result<Self, SourceError> {
        let namespace = rows.namespace();
        let client: &Client = rows.client();
        let claims = client.database(&namespace.db).collection::<Document>(&format!("{}_claims", namespace.coll));
        let free = |id| doc! { "_id": id, "claimed_by": Bson::Null, "lease_until": Bson::Null };
        match claims.insert_many(ids(BucketSet::ALL).into_iter().map(free)).ordered(false).await {
            Ok(_) => Ok(Self(claims)),
            Err(error) if is_all_there(&error) => Ok(Self(claims)),
            Err(error) => Err(error.into()),
        }
    }

    pub async fn wish(&self, wish: &BucketWish<'_>) -> Result<Vec<ClaimedPart>, SourceError> {
        let lease_ms = i64::try_from(wish.lease.as_millis()).unwrap_or(i64::MAX);
        let until = doc! { "$add": ["$$NOW", lease_ms] };
        let claimed: UpdateModifications =
            vec![doc! { "$set": { "claimed_by": wish.holder, "lease_until": until } }].into();
        let own = hub_id(wish.holder);
        match wish.presence {
            HubPresence::Here => {
                self.0.update_one(doc! { "_id": &own }, claimed.clone()).upsert(true).await?;
            }
            HubPresence::Leaving => {
                self.0.delete_one(doc! { "_id": &own }).await?;
            }
        }
        if !wish.give.is_empty() {
            let ours = doc! { "_id": { "$in": ids(wish.give) }, "claimed_by": wish.holder };
            self.0.update_many(ours, doc! { "$set": { "claimed_by": Bson::Null } }).await?;
        }
        if !wish.take.is_empty() {
            let is_over = doc! { "$expr": { "$lte": ["$lease_until", "$$NOW"] } };
            let free = [doc! { "claimed_by": wish.holder }, doc! { "claimed_by": Bson::Null }, is_over];
            self.0.update_many(doc! { "_id": { "$in": ids(wish.take) }, "$or": free }, claimed).await?;
        }
        self.read().await
    }

    async fn read(&self) -> Result<Vec<ClaimedPart>, SourceError> {
        let left = doc! { "$subtract": ["$lease_until", "$$NOW"] };
        let mut cursor = self.0.aggregate([doc! { "$set": { "left": left } }]).await?;
        let (mut parts, mut gone) = (Vec::new(), Vec::new());
        while cursor.advance().await? {
            let document = cursor.deserialize_current()?;
            let id = document.get_str("_id").unwrap_or_default();
            let left = document.get_i64("left").unwrap_or_default();
            let holder = document.get_str("claimed_by").ok().map(str::to_owned);
            match ClaimPart::of(id) {
                Some(ClaimPart::Hub) if left < -FORGOTTEN_MS => gone.push(id.to_owned()),
                Some(part) => {
                    let left = Duration::from_millis(u64::try_from(left).unwrap_or_default());
                    parts.push(ClaimedPart { part, holder, left });
                }
                None => {}
            }
        }
        if !gone.is_empty() {
            self.0.delete_many(doc! { "_id": { "$in": gone } }).await?;
        }
        Ok(parts)
    }
}

/// What could not be inserted was there before.
fn is_all_there(error: &mongodb::error::Error) -> bool {
    let ErrorKind::InsertMany(refused) = &*error.kind else {
        return false;
    };
    let write_errors = refused.write_errors.as_deref().unwrap_or_default();
    refused.write_concern_error.is_none() && write_errors.iter().all(|error| error.code == DUPLICATE_KEY)
}

fn ids(buckets: BucketSet) -> Vec<String> {
    buckets.iter().map(bucket_id).collect()
}
