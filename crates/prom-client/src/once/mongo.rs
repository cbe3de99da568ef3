//! Marks in a MongoDB collection, in the caller's session.

use std::time::Duration;

use mongodb::bson::{DateTime, Document, doc};
use mongodb::error::Error;
use mongodb::options::IndexOptions;
use mongodb::{ClientSession, Collection, IndexModel};

use super::{ONCE_TTL, OnceMarks};

/// Marks as documents `{_id, at}`. MongoDB removes them when they are old.
#[derive(Debug, Clone)]
pub struct MongoMarks(Collection<Document>);

impl MongoMarks {
    /// Makes the index by which marks expire after [`ONCE_TTL`].
    pub async fn open(collection: Collection<Document>) -> Result<Self, Error> {
        Self::open_with(collection, ONCE_TTL).await
    }

    /// As [`MongoMarks::open`], with another time.
    pub async fn open_with(collection: Collection<Document>, ttl: Duration) -> Result<Self, Error> {
        let expiry = IndexOptions::builder().name("once_expiry".to_owned()).expire_after(ttl).build();
        collection.create_index(IndexModel::builder().keys(doc! { "at": 1 }).options(expiry).build()).await?;
        Ok(Self(collection))
    }
}

impl OnceMarks<ClientSession> for MongoMarks {
    type Error = Error;

    /// A key that is there twice would end the transaction; this only finds it.
    async fn mark(&self, session: &mut ClientSession, mark: &str) -> Result<bool, Error> {
        let update = doc! { "$setOnInsert": { "at": DateTime::now() } };
        let marked = self.0.update_one(doc! { "_id": mark }, update).upsert(true).session(session).await?;
        Ok(marked.upserted_id.is_some())
    }
}
