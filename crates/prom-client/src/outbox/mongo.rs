//! Rows of an outbox in MongoDB.

use mongodb::bson::{Bson, Document, doc, serialize_to_bson};
use mongodb::{ClientSession, Collection};
use prom_types::EventId;

use super::OutboxEvent;

impl OutboxEvent {
    /// Adds it to a collection, in the transaction of the session.
    pub async fn add_to_mongo(
        &self,
        outbox: &Collection<Document>,
        session: &mut ClientSession,
    ) -> mongodb::error::Result<EventId> {
        outbox.insert_one(self.to_document()?).session(session).await?;
        Ok(self.id)
    }

    /// The row itself: for `$push` into an array of a business document, where there is no transaction.
    pub fn to_document(&self) -> mongodb::error::Result<Document> {
        let payload =
            serialize_to_bson(&self.event.payload.to::<serde_json::Value>().map_err(mongodb::error::Error::custom)?)?;
        let mut row = doc! {
            "_id": self.id.to_string(),
            "topic": self.event.topic.as_str(),
            "payload": payload,
            "status": "pending",
            "ts": self.ts,
        };
        row.extend(self.event.key.clone().map(|key| ("key".to_owned(), Bson::from(key))));
        if let Some(headers) = self.headers() {
            row.insert("headers", serialize_to_bson(headers)?);
        }
        Ok(row)
    }
}
