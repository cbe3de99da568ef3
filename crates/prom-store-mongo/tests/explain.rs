//! Every query of the store is answered by an index scan.
#![allow(clippy::unwrap_used)]

use mongodb::Client;
use mongodb::bson::{Document, doc};
use prom_store::{LogName, Store};
use prom_store_mongo::queries::{self, IndexedQuery};
use prom_store_mongo::{MongoOptions, MongoStore};
use prom_testkit::mongo::shared;
use prom_types::{EventId, TopicName};

fn all(log: &LogName) -> Vec<(&'static str, &'static str, IndexedQuery)> {
    let id = EventId::derived("a");
    vec![
        ("batches_from", "event_batches", queries::batches_from(log, 7)),
        ("batches_before", "event_batches", queries::batches_before(log, 7)),
        ("heads_before", "event_batches", queries::heads_before(log, 7)),
        ("heads_from", "event_batches", queries::heads_from(log, 7)),
        ("head", "event_batches", queries::head(log)),
        ("ids_before", "event_batches", queries::ids_before(log, 7)),
        ("exact_ids", "event_batches", queries::exact_ids(&log.topic, &[id, EventId::derived("b")])),
        ("stored_at", "event_batches", queries::stored_at(log, 7)),
        ("with_id", "event_batches", queries::with_id(log, id, 3, 7)),
        ("log", "logs", queries::log(log)),
        ("all_logs", "logs", queries::all_logs()),
        ("latest", "latest", queries::latest(log, &["a", "b"])),
        ("latest_before", "latest", queries::latest_before(log, 7)),
        ("latest_tombstones_before", "latest", queries::latest_tombstones_before(log, 7)),
        ("latest_text_before", "latest", queries::latest_text_before(log, 7)),
        ("cursor", "cursors", queries::cursor("orders::0::billing")),
        ("cursors", "cursors", queries::cursors(Some(&log.topic))),
        ("cursors", "cursors", queries::cursors(None)),
        ("held_lease", "leases", queries::held_lease("hub/a", "$$NOW".into())),
        ("document", "groups", queries::document("a")),
        ("documents", "groups", queries::documents(None)),
        ("documents", "groups", queries::documents(Some("a"))),
    ]
}

#[tokio::test]
async fn every_query_uses_an_index_and_sorts_nothing() {
    let url = shared().await.unwrap().fresh_url();
    let store = MongoStore::open(&url, MongoOptions::default()).await.unwrap();
    let write = prom_store::DocumentWrite::put("groups", "a", "1");
    store.commit(prom_store::Commit::document(write)).await.unwrap();
    let database = Client::with_uri_str(&url).await.unwrap().default_database().unwrap();
    let log = LogName::new(TopicName::parse("orders").unwrap(), 0);
    for (name, collection, query) in all(&log) {
        let find =
            doc! { "find": collection, "filter": query.filter, "sort": query.sort, "projection": query.projection };
        let explained = database.run_command(doc! { "explain": find, "verbosity": "queryPlanner" }).await.unwrap();
        let plan = winning_plan(&explained);
        assert!(plan.contains("IXSCAN") || plan.contains("IDHACK") || plan.contains("EXPRESS"), "{name}: {plan}");
        assert!(!plan.contains("COLLSCAN") && !plan.contains("\"SORT\""), "{name}: {plan}");
    }
    store.close().await.unwrap();
}

fn winning_plan(explained: &Document) -> String {
    explained.get_document("queryPlanner").unwrap().get_document("winningPlan").unwrap().to_string()
}

#[test]
fn no_query_is_left_out() {
    let log = LogName::new(TopicName::parse("orders").unwrap(), 0);
    let explained: Vec<_> = all(&log).into_iter().map(|(name, ..)| name).collect();
    for line in include_str!("../src/queries.rs").lines().filter(|line| line.ends_with("-> IndexedQuery {")) {
        let Some((name, _)) = line.strip_prefix("pub fn ").and_then(|rest| rest.split_once('(')) else { continue };
        assert!(explained.contains(&name), "{name} is not explained");
    }
}

#[tokio::test]
async fn a_query_on_one_topic_uses_the_index_through_the_view() {
    let url = shared().await.unwrap().fresh_url();
    let store = MongoStore::open(&url, MongoOptions::default()).await.unwrap();
    let database = Client::with_uri_str(&url).await.unwrap().default_database().unwrap();
    for filter in [doc! { "topic": "orders" }, doc! { "topic": "orders", "partition": 0, "payload.total": 7 }] {
        let find = doc! { "find": "events", "filter": filter };
        let explained = database.run_command(doc! { "explain": find, "verbosity": "queryPlanner" }).await.unwrap();
        let plan = explained.to_string();
        assert!(plan.contains("IXSCAN") && !plan.contains("COLLSCAN"), "{plan}");
    }
    store.close().await.unwrap();
}
