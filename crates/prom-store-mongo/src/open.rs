//! Opening: reaches the servers, checks that they are suitable, creates missing collections and indexes.

use std::sync::Arc;

use mongodb::bson::{Bson, Document, doc};
use mongodb::error::Error;
use mongodb::event::sdam::SdamEvent;
use mongodb::options::{
    Acknowledgment, ClientOptions, IndexOptions, ReadConcern, ReadPreference, SelectionCriteria, WriteConcern,
};
use mongodb::{Client, IndexModel};
use prom_store::StoreError;
use tokio::time::Instant;

use crate::fault::{self, FailedWrite, explain, explain_address};
use crate::limits::{FENCED_AFTER_DELETION, SELECTION_TIMEOUT};
use crate::names::{BATCHES, CURSORS, Collections, EVENTS, LATEST, LEASES, LOGS};
use crate::options::MongoOptions;
use crate::shared::{MongoShared, RetryPause};
use crate::topology::Topology;
use crate::{command, exact};

/// Used if the connection string names no database.
const DATABASE: &str = "prom";
/// MongoDB 6.0.
const OLDEST_WIRE_VERSION: i32 = 17;

/// Unique over all partitions of a topic: what two hubs store at one moment in two of them is refused for one of them.
pub const EXACT_INDEX: &str = "exact_ids_by_topic";
/// Indexes of earlier versions: unique only within a partition, and not unique.
const EARLIER_EXACT_INDEXES: [&str; 2] = ["exact_ids_of_topic", "exact_ids"];
pub const TIME_INDEX: &str = "by_time";

/// Connects and sets up.
pub async fn open(url: &str, options: MongoOptions) -> Result<MongoShared, StoreError> {
    let topology = Arc::new(Topology::default());
    let mut client = ClientOptions::parse(url).await.map_err(|error| explain_address(&error))?;
    configure(&mut client, topology.clone());
    let database = client.default_database.clone().unwrap_or_else(|| DATABASE.to_owned());
    let client = Client::with_options(client).map_err(|error| explain_address(&error))?;
    let collections = Collections::new(client.database(&database), &options.prefix);
    let deadline = Instant::now() + options.open_timeout;
    tokio::select! {
        opened = reach(&collections) => opened?,
        refusal = topology.give_up(deadline) => return Err(refusal),
    }
    Ok(MongoShared::new(client, collections, options, topology))
}

/// The store's promises do not depend on the connection string.
fn configure(options: &mut ClientOptions, topology: Arc<Topology>) {
    let mut write_concern = WriteConcern::default();
    write_concern.w = Some(Acknowledgment::Majority);
    write_concern.journal = Some(true);
    options.write_concern = Some(write_concern);
    options.read_concern = Some(ReadConcern::majority());
    options.selection_criteria = Some(SelectionCriteria::ReadPreference(ReadPreference::Primary));
    options.retry_writes = Some(true);
    options.retry_reads = Some(true);
    options.app_name.get_or_insert_with(|| "prom".to_owned());
    options.server_selection_timeout.get_or_insert(SELECTION_TIMEOUT);
    let handler = mongodb::event::EventHandler::callback(move |event| {
        if let SdamEvent::TopologyDescriptionChanged(changed) = event {
            topology.see(&changed.new_description);
        }
    });
    options.sdam_event_handler = Some(handler);
}

/// Retries for as long as a retry can help. The primary may change at any moment.
async fn reach(collections: &Collections) -> Result<(), StoreError> {
    let mut pause = RetryPause::default();
    loop {
        // A standalone server is not a primary, so any server may answer the question what it is.
        let nearest = SelectionCriteria::ReadPreference(ReadPreference::Nearest { options: None });
        let hello = collections.database.run_command(doc! { "hello": 1 }).selection_criteria(nearest);
        let error = match command::run(hello).await {
            Ok(hello) => {
                check_server(collections, &hello).await?;
                match set_up(collections).await {
                    Ok(()) => return Ok(()),
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        if !fault::is_passing(&error) {
            return Err(explain(&error));
        }
        tracing::debug!(reason = %fault::reason(&error), "MongoDB cannot be used yet; trying again");
        pause.wait().await;
    }
}

async fn check_server(collections: &Collections, hello: &Document) -> Result<(), StoreError> {
    let wire_version = hello.get_i32("maxWireVersion").unwrap_or(0);
    if wire_version < OLDEST_WIRE_VERSION {
        let info = command::run(collections.database.run_command(doc! { "buildInfo": 1 })).await.unwrap_or_default();
        return Err(StoreError::Server {
            what: "this MongoDB is too old",
            reason: format!("it is version {}", info.get_str("version").unwrap_or("unknown")),
            fix: "use 6.0 or later",
        });
    }
    let is_set = hello.contains_key("setName") || hello.get_str("msg").is_ok_and(|kind| kind == "isdbgrid");
    if is_set {
        return Ok(());
    }
    Err(StoreError::Server {
        what: "this MongoDB server is standalone",
        reason: "it belongs to no replica set; change streams and transactions need one".to_owned(),
        fix: "start it with --replSet and run rs.initiate() once; a set of one member is enough",
    })
}

/// Creates what is missing. Two hubs that start at once do not disturb each other.
async fn set_up(collections: &Collections) -> Result<(), Error> {
    let there = collections.database.list_collection_names().await?;
    for own in [BATCHES, LOGS, LATEST, CURSORS, LEASES] {
        let name = collections.name(own);
        if !there.contains(&name) {
            unless_there(collections.database.create_collection(name).await)?;
        }
    }
    make_batch_indexes(collections).await?;
    let expiry = IndexOptions::builder().expire_after(FENCED_AFTER_DELETION).build();
    collections
        .cursors
        .create_index(IndexModel::builder().keys(doc! { "deleted_at": 1 }).options(expiry).build())
        .await?;
    let view = collections.name(EVENTS);
    if !there.contains(&view) {
        let create = collections.database.create_collection(view).view_on(collections.name(BATCHES));
        unless_there(create.pipeline(view_pipeline()).await)?;
    }
    Ok(())
}

fn unless_there(made: Result<(), Error>) -> Result<(), Error> {
    match made {
        Err(error) if !fault::is_namespace_exists(&error) => Err(error),
        _ => Ok(()),
    }
}

async fn make_batch_indexes(collections: &Collections) -> Result<(), Error> {
    let batches = &collections.batches;
    let there = batches.list_index_names().await?;
    let is_there = |name: &str| there.iter().any(|there| there == name);
    if !is_there(EXACT_INDEX) && is_there(EARLIER_EXACT_INDEXES[0]) {
        unless_gone(batches.drop_index(EARLIER_EXACT_INDEXES[0]).await)?;
    }
    match batches.create_indexes(batch_indexes()).await {
        Err(error) if fault::of_write(&error) == FailedWrite::Duplicate => {
            // An earlier version may have stored an id in several partitions.
            exact::keep_first(collections).await?;
            batches.create_indexes(batch_indexes()).await?;
        }
        made => drop(made?),
    }
    if is_there(EARLIER_EXACT_INDEXES[1]) {
        unless_gone(batches.drop_index(EARLIER_EXACT_INDEXES[1]).await)?;
    }
    Ok(())
}

fn unless_gone(dropped: Result<(), Error>) -> Result<(), Error> {
    match dropped {
        Err(error) if !fault::is_index_not_found(&error) => Err(error),
        _ => Ok(()),
    }
}

fn batch_indexes() -> [IndexModel; 2] {
    let by_time = IndexOptions::builder().name(TIME_INDEX.to_owned()).build();
    let exact = IndexOptions::builder()
        .name(EXACT_INDEX.to_owned())
        .unique(true)
        .partial_filter_expression(doc! { "exact": { "$exists": true } })
        .build();
    [
        IndexModel::builder()
            .keys(doc! { "topic": 1, "partition": 1, "last_ts": 1, "next": 1 })
            .options(by_time)
            .build(),
        IndexModel::builder().keys(doc! { "topic": 1, "exact": 1 }).options(exact).build(),
    ]
}

/// A view with one document per event, with the event's own field names. Queries by topic, partition and `last_ts` (the
/// time of the last event in the batch) use the index.
fn view_pipeline() -> Vec<Document> {
    let or = |own: &str, usual: Bson| doc! { "$ifNull": [own, usual] };
    let by_place = doc! { "$add": ["$_id.base", "$index"] };
    vec![
        doc! { "$unwind": { "path": "$events", "includeArrayIndex": "index" } },
        doc! { "$project": {
            "_id": "$events.id",
            "id": "$events.id",
            "sid": "$events.sid",
            "ts": "$events.ts",
            "stored_ts": or("$events.stored_ts", "$stored_ts".into()),
            "topic": 1,
            "key": "$events.key",
            "partition": 1,
            "last_ts": 1,
            "offset": or("$events.offset", by_place.into()),
            "headers": "$events.headers",
            "payload": "$events.payload",
            "caused_by": "$events.caused_by",
            "tags": "$events.tags",
            "raw": "$events.raw",
        } },
    ]
}
