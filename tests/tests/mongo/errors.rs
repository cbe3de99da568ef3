//! Every problem with the database is reported with what to do about it.

use std::time::{Duration, Instant};

use mongodb::Client;
use mongodb::bson::doc;
use prom_store::{Commit, CommitError, DocumentWrite, Outcome, Store, StoreError};
use prom_store_mongo::{MongoOptions, MongoStore};
use prom_testkit::mongo::{Access, ReplicaSet, SetOptions};

/// The error of opening.
async fn refusal(url: &str, timeout: Duration) -> String {
    let options = MongoOptions { open_timeout: timeout, ..MongoOptions::default() };
    match MongoStore::open(url, options).await {
        Err(error @ StoreError::Server { .. }) => error.to_string(),
        Err(error) => panic!("another kind of error: {error}"),
        Ok(_) => panic!("{url} was opened"),
    }
}

fn assert_says(said: &str, words: &[&str]) {
    for word in words {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
}

#[tokio::test]
async fn a_standalone_server_is_refused_with_how_to_make_it_a_set() {
    let (_member, _folder, url) = ReplicaSet::standalone().await.unwrap();
    let said = refusal(&url, Duration::from_secs(20)).await;
    assert_says(&said, &["standalone", "--replSet", "rs.initiate()"]);
}

#[tokio::test]
async fn a_wrong_password_and_missing_rights_are_told_apart() {
    let access = Access::Password { user: "root".to_owned(), password: "secret".to_owned() };
    let set = ReplicaSet::start_with(SetOptions { access, ..SetOptions::default() }).await.unwrap();
    let root = Client::with_uri_str(set.url("prom")).await.unwrap();
    let reader = doc! { "createUser": "reader", "pwd": "secret", "roles": [{ "role": "read", "db": "prom" }] };
    root.database("admin").run_command(reader).await.unwrap();
    let writer = doc! { "createUser": "writer", "pwd": "secret", "roles": [{ "role": "readWrite", "db": "prom" }] };
    root.database("admin").run_command(writer).await.unwrap();

    let begun = Instant::now();
    let wrong = set.url("prom").replace("root:secret", "root:guessed");
    let said = refusal(&wrong, Duration::from_secs(60)).await;
    assert_says(&said, &["user name or the password", "authSource"]);
    assert!(begun.elapsed() < Duration::from_secs(30), "retrying does not help");
    assert!(!said.contains("guessed"), "a password was repeated");

    let said = refusal(&set.url("prom").replace("root:", "reader:"), Duration::from_secs(20)).await;
    assert_says(&said, &["lacks rights", "readWrite"]);

    let url = set.url("prom").replace("root:", "writer:");
    let store = MongoStore::open(&url, MongoOptions::default()).await.unwrap();
    store.commit(Commit::document(DocumentWrite::put("groups", "a", "1"))).await.unwrap();
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_missing_server_is_retried_until_the_deadline_and_then_named() {
    let begun = Instant::now();
    let url = "mongodb://127.0.0.1:1/prom?replicaSet=prom&serverSelectionTimeoutMS=300";
    let said = refusal(url, Duration::from_secs(2)).await;
    assert_says(&said, &["cannot be reached", "primary"]);
    assert!(begun.elapsed() >= Duration::from_secs(2), "it gave up early");
}

#[tokio::test]
async fn an_invalid_connection_string_is_refused_at_once() {
    let said = refusal("mongodb://[", Duration::from_secs(60)).await;
    assert_says(&said, &["connection string", "mongodb://"]);
}

#[tokio::test]
async fn a_lost_server_is_named_as_trouble_and_commits_fail_truthfully() {
    let mut set = ReplicaSet::start(1).await.unwrap();
    let mut options = MongoOptions::default();
    options.times.commit = Duration::from_secs(2);
    options.times.call = Duration::from_secs(2);
    let url = format!("{}&serverSelectionTimeoutMS=500&heartbeatFrequencyMS=500", set.url("prom"));
    let store = MongoStore::open(&url, options).await.unwrap();
    assert_eq!(store.trouble(), None);
    set.members[0].kill();
    let failed = store.commit(Commit::document(DocumentWrite::put("groups", "a", "1"))).await;
    assert!(matches!(&failed, Err(CommitError::Failed { .. })), "{failed:?}");
    assert!(store.trouble().is_some_and(|trouble| trouble.contains("no reachable primary")), "{:?}", store.trouble());

    set.members[0].restart().unwrap();
    set.primary().await.unwrap();
    let stored = async {
        loop {
            let again = store.commit(Commit::document(DocumentWrite::put("groups", "a", "2"))).await;
            match again {
                Ok(_) => return,
                Err(CommitError::Failed { outcome: Outcome::NotStored | Outcome::Unknown, .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), stored).await.expect("it never recovered");
    assert_eq!(store.trouble(), None);
    store.close().await.unwrap();
}
