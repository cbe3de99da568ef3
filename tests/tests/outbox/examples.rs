//! The examples of the guide, in Node, Python and Rust: business data and the event in one transaction, and the event arrives.

use std::path::Path;
use std::process::Command;

use mongodb::bson::{Document, doc};
use prom_client::json;
use prom_client::outbox::OutboxEvent;
use prom_testkit::tools::{self, ToolError};
use serde_json::Value;
use sqlx::{PgPool, SqlitePool, raw_sql};

use super::scene::{Scene, events, postgres};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/outbox");
const MONGO: &str = "[[outbox]]\nname = \"shop\"\nsource = \"mongo\"\nurl = \"{mongo}\"\ntable = \"outbox\"\n\
                     [[outbox]]\nname = \"carts\"\nsource = \"mongo\"\nurl = \"{mongo}\"\ntable = \"carts\"\nfield = \"events\"\n";

/// `None`, with a word: it is not installed. CI has it.
fn or_skip<T>(tool: Result<T, ToolError>) -> Option<T> {
    match tool {
        Ok(tool) => Some(tool),
        Err(missing @ ToolError::Missing(_)) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: {missing}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Node finds packages beside the script.
fn run_node(packages: &Path, script: &str, url: &str) {
    let copy = packages.join(script);
    std::fs::copy(Path::new(FOLDER).join(script), &copy).unwrap();
    run(Command::new("node").arg(copy).args([url, "order-1"]));
}

fn run_python(python: &Path, script: &str, url: &str) {
    run(Command::new(python).arg(Path::new(FOLDER).join(script)).args([url, "order-2"]));
}

/// Which languages wrote these events, each with its key.
fn writers(events: &[prom_client::StoredEvent]) -> Vec<(String, String)> {
    let mut writers: Vec<(String, String)> = events
        .iter()
        .map(|event| {
            let from = event.payload::<Value>().unwrap()["from"].as_str().unwrap().to_owned();
            (from, event.key().unwrap_or_default().to_owned())
        })
        .collect();
    writers.sort();
    writers
}

fn expected(languages: &[(&str, &str)]) -> Vec<(String, String)> {
    languages.iter().map(|(from, key)| ((*from).to_owned(), (*key).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn node_python_and_rust_write_an_order_and_its_event_in_one_transaction_of_mongodb() {
    let Some(packages) = or_skip(tools::node_packages(&["mongodb@6.12.0"])) else { return };
    let Some(python) = or_skip(tools::python_packages(&["pymongo==4.10.1"])) else { return };
    let scene = Scene::new(MONGO).await;
    let hub = scene.hub();
    run_node(&packages, "mongo.mjs", &scene.database);
    run_python(&python, "mongo.py", &scene.database);
    let client = mongodb::Client::with_uri_str(&scene.database).await.unwrap();
    let shop = client.default_database().unwrap();
    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let order = doc! { "_id": "order-3", "state": "placed" };
    shop.collection::<Document>("orders").insert_one(order).session(&mut session).await.unwrap();
    let event = OutboxEvent::new("orders.placed", json!({"order": "order-3", "from": "rust"})).unwrap();
    let event = event.key("order-3").header("x-source", "shop").unwrap();
    event.add_to_mongo(&shop.collection("outbox"), &mut session).await.unwrap();
    session.commit_transaction().await.unwrap();

    let placed = events(&hub, "orders.placed", 3).await;
    assert_eq!(writers(&placed), expected(&[("node", "order-1"), ("python", "order-2"), ("rust", "order-3")]));
    assert!(placed.iter().all(|event| event.headers().get("x-source") == Some("shop")));
    assert_eq!(placed.iter().filter(|placed| placed.id() == event.id()).count(), 1);
    let closed = events(&hub, "carts.closed", 2).await;
    assert_eq!(writers(&closed), expected(&[("node", "order-1"), ("python", "order-2")]));
    assert_eq!(shop.collection::<Document>("orders").count_documents(doc! {}).await.unwrap(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn node_python_and_rust_write_an_order_and_its_event_in_one_transaction_of_postgresql() {
    let Some(cluster) = postgres() else { return };
    let Some(packages) = or_skip(tools::node_packages(&["pg@8.13.1"])) else { return };
    let Some(python) = or_skip(tools::python_packages(&["psycopg[binary]==3.2.9"])) else { return };
    let pool = PgPool::connect(&cluster.url()).await.unwrap();
    raw_sql(prom_flows::outbox::POSTGRES_DDL).execute(&pool).await.unwrap();
    raw_sql("CREATE TABLE orders (id text PRIMARY KEY, state text)").execute(&pool).await.unwrap();
    let url = cluster.url();
    let outbox = format!("[[outbox]]\nname = \"shop\"\nsource = \"postgres\"\nurl = \"{url}\"\ntable = \"outbox\"\n");
    let scene = Scene::new(&outbox).await;
    let hub = scene.hub();
    run_node(&packages, "postgres.mjs", &url);
    run_python(&python, "postgres.py", &url);
    let mut transaction = pool.begin().await.unwrap();
    raw_sql("INSERT INTO orders VALUES ('order-3', 'placed')").execute(&mut *transaction).await.unwrap();
    let event = OutboxEvent::new("orders.placed", json!({"order": "order-3", "from": "rust"})).unwrap();
    let event = event.key("order-3").header("x-source", "shop").unwrap();
    event.add_to_postgres(&mut transaction, "outbox").await.unwrap();
    transaction.commit().await.unwrap();

    let placed = events(&hub, "orders.placed", 3).await;
    assert_eq!(writers(&placed), expected(&[("node", "order-1"), ("python", "order-2"), ("rust", "order-3")]));
    assert!(placed.iter().all(|event| event.headers().get("x-source") == Some("shop")));
    assert_eq!(sqlx::query_scalar::<_, i64>("SELECT count(*) FROM orders").fetch_one(&pool).await.unwrap(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn rust_writes_an_event_in_a_transaction_of_sqlite_and_one_that_is_rolled_back_never_comes() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("shop.db").display());
    let pool = SqlitePool::connect(&format!("{url}?mode=rwc")).await.unwrap();
    raw_sql(prom_flows::outbox::SQLITE_DDL).execute(&pool).await.unwrap();
    let outbox = format!("[[outbox]]\nname = \"shop\"\nsource = \"sqlite\"\nurl = \"{url}\"\ntable = \"outbox\"\n");
    let hub = Scene::new(&outbox).await;
    let hub = hub.hub();
    for (from, is_kept) in [("undone", false), ("rust", true)] {
        let mut transaction = pool.begin().await.unwrap();
        let event = OutboxEvent::new("orders.placed", json!({ "from": from })).unwrap().key("k");
        event.add_to_sqlite(&mut transaction, "outbox").await.unwrap();
        if is_kept {
            transaction.commit().await.unwrap();
        } else {
            transaction.rollback().await.unwrap();
        }
    }
    assert_eq!(writers(&events(&hub, "orders.placed", 1).await), expected(&[("rust", "k")]));
}
