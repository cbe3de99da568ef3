//! Several that change the registry at the same moment.

use std::sync::Arc;

use prom_engine::{Deletion, Error, Reference, SchemaCandidate, SchemaDocument};
use prom_types::TopicName;
use serde_json::json;

use super::register;
use crate::support::bus;

/// One registers a reference, another deletes what it refers to: both looked first, and both found nothing against it.
#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_deleted_or_referred_to_and_never_both() {
    let bus = Arc::new(bus().await);
    let (mut deleted, mut referred) = (0, 0);
    for round in 0..60 {
        let (base, user) = (format!("base{round}"), format!("user{round}"));
        register(&bus, &base, json!({"type": "integer", "title": base})).await;
        let reference =
            Reference { name: "base.json".to_owned(), subject: TopicName::parse(&base).unwrap(), version: 1 };
        let schema = json!({"$ref": "base.json", "title": user});
        let candidate = SchemaCandidate::new(SchemaDocument::new(schema, vec![reference]).unwrap());
        let (deleting, registering) = (bus.clone(), bus.clone());
        let deletes = tokio::spawn(async move {
            // Compiling takes a moment: sometimes it is first, and sometimes the other one.
            for _ in 0..round * 20 {
                tokio::task::yield_now().await;
            }
            deleting.delete_schema_version(&base, 1, Deletion::Soft).await
        });
        let registers = tokio::spawn(async move { registering.register_schema(&user, candidate).await });
        let (deletion, registration) = (deletes.await.unwrap(), registers.await.unwrap());
        match (&deletion, &registration) {
            (Ok(()), Err(Error::SchemaChange { .. })) => deleted += 1,
            (Err(Error::SchemaReferred { .. }), Ok(_)) => referred += 1,
            other => panic!("round {round}: {other:?}"),
        }
    }
    assert_eq!(deleted + referred, 60);
}
