//! Sets of MongoDB servers start, lose and regain members, and are shared.
#![cfg(feature = "mongo")]
#![allow(clippy::unwrap_used)]

use mongodb::Client;
use mongodb::bson::{Document, doc};
use prom_testkit::mongo::{Access, Certificates, ReplicaSet, SetOptions, shared};

async fn is_written_and_read(url: &str) {
    let client = Client::with_uri_str(url).await.unwrap();
    let things = client.default_database().unwrap().collection::<Document>("things");
    things.insert_one(doc! { "_id": url }).await.unwrap();
    assert!(things.find_one(doc! { "_id": url }).await.unwrap().is_some());
}

#[tokio::test]
async fn the_shared_server_gives_every_test_a_database() {
    let server = shared().await.unwrap();
    let (one, other) = (server.fresh_url(), server.fresh_url());
    assert_ne!(one, other);
    is_written_and_read(&one).await;
    is_written_and_read(&other).await;
}

#[tokio::test]
async fn a_set_continues_without_its_primary_and_takes_it_back() {
    let mut set = ReplicaSet::start(3).await.unwrap();
    let first = set.primary().await.unwrap();
    is_written_and_read(&set.url("before")).await;
    set.members[first].kill();
    let second = set.primary().await.unwrap();
    assert_ne!(first, second);
    is_written_and_read(&set.url("without")).await;
    set.members[first].restart().unwrap();
    is_written_and_read(&set.url("after")).await;
    set.until_whole().await.unwrap();
}

#[tokio::test]
async fn a_set_with_passwords_and_encryption_requires_both() {
    let folder = tempfile::TempDir::new().unwrap();
    let options = SetOptions {
        access: Access::Password { user: "prom".to_owned(), password: "secret".to_owned() },
        certificates: Some(Certificates::make(folder.path()).unwrap()),
        ..SetOptions::default()
    };
    let set = ReplicaSet::start_with(options).await.unwrap();
    is_written_and_read(&set.url("mine")).await;
}
