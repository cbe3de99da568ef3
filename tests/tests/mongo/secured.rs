//! Passwords and encryption, as the connection string asks for them.

use prom_store::{Commit, DocumentWrite, Documents, Store};
use prom_store_mongo::{MongoOptions, MongoStore};
use prom_testkit::mongo::{Access, Certificates, ReplicaSet, SetOptions};

#[tokio::test]
async fn a_store_works_over_encrypted_connections_with_a_password() {
    let folder = tempfile::TempDir::new().unwrap();
    let options = SetOptions {
        access: Access::Password { user: "prom".to_owned(), password: "secret".to_owned() },
        certificates: Some(Certificates::make(folder.path()).unwrap()),
        ..SetOptions::default()
    };
    let set = ReplicaSet::start_with(options).await.unwrap();
    let store = MongoStore::open(&set.url("prom"), MongoOptions::default()).await.unwrap();
    store.commit(Commit::document(DocumentWrite::put("groups", "a", "1"))).await.unwrap();
    assert!(store.document("groups", "a").await.unwrap().is_some());
    store.close().await.unwrap();
}
