//! Following the writes of other hubs: one change stream per store.
//!
//! It wakes readers and carries the batches, so dispatchers near the head need no query. It leaves out this hub's own
//! batches. Documents of the collections that hubs watch go to their listeners. A collection of the store that is dropped is
//! noted, because nothing that this hub remembers of it is true any more. A broken stream resumes where it
//! stopped. If that position is gone, the head of every log in use is read again first, and listeners are told to read
//! all documents. A stream that is not answered in time counts as broken: a connection that is lost without a word would stay
//! silent.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use mongodb::bson::{Document, RawDocumentBuf, doc};
use mongodb::change_stream::ChangeStream;
use mongodb::change_stream::event::ResumeToken;
use mongodb::error::Error;
use mongodb::options::FullDocumentType;
use prom_store::{DocumentNews, LogName};
use prom_types::TopicName;

use crate::codec::{BatchHead, StoredBatch};
use crate::commit::take_in_read;
use crate::latest::fill_soon;
use crate::limits::STREAM_AWAIT;
use crate::log::reload;
use crate::names::{EVENTS, OWN};
use crate::shared::{MongoShared, RetryPause};
use crate::{document, fault};

pub type ChangeFeed = ChangeStream<RawDocumentBuf>;

pub async fn open(shared: &MongoShared, after: Option<ResumeToken>) -> Result<ChangeFeed, Error> {
    let watch = shared.collections.database.watch().pipeline(pipeline(shared)).max_await_time(STREAM_AWAIT);
    let watch = watch.full_document(FullDocumentType::UpdateLookup).resume_after(after);
    Ok(shared.call(async { watch.await }).await?.with_type())
}

/// Batches of other hubs, changes to logs, and documents that were written.
fn pipeline(shared: &MongoShared) -> Vec<Document> {
    let batches = doc! {
        "ns.coll": shared.collections.batches.name(),
        "operationType": "insert",
        "fullDocument.by": { "$ne": shared.hub },
    };
    let updated = |field: &str| doc! { format!("updateDescription.updatedFields.{field}"): { "$exists": true } };
    let is_new = doc! { "operationType": "insert" };
    let logs = doc! {
        "ns.coll": shared.collections.logs.name(),
        "$or": [updated("start"), updated("compacted"), updated("versions"), updated("ended"), is_new],
    };
    let told = shared.options.told_documents.iter();
    let told: Vec<String> = told.map(|collection| shared.collections.documents_name(collection)).collect();
    let documents = doc! {
        "ns.coll": { "$in": told },
        "operationType": { "$in": ["insert", "update", "replace", "delete"] },
    };
    let dropped = doc! { "operationType": { "$in": ["drop", "rename", "dropDatabase"] } };
    vec![doc! { "$match": { "$or": [batches, logs, documents, dropped] } }]
}

/// Runs until the store closes. If it panics, it starts again.
pub async fn run(shared: Arc<MongoShared>, stream: ChangeFeed) {
    let mut closing = shared.closing.subscribe();
    let following = async {
        let (mut stream, mut pause) = (Some(stream), RetryPause::default());
        loop {
            let Err(_) = AssertUnwindSafe(follow(&shared, stream.take())).catch_unwind().await;
            tracing::error!("following the change stream panicked; starting again");
            pause.wait().await;
        }
    };
    tokio::select! {
        () = following => {}
        _ = closing.wait_for(|closing| *closing) => {}
    }
}

/// Without a stream, everything is read first.
async fn follow(shared: &Arc<MongoShared>, stream: Option<ChangeFeed>) -> Infallible {
    let mut pause = RetryPause::default();
    let mut stream = match stream {
        Some(stream) => stream,
        None => reopen(shared, None, &mut pause).await,
    };
    loop {
        let next = MongoShared::within(STREAM_AWAIT + shared.options.times.call, stream.next_if_any()).await;
        let error = match next {
            Ok(Some(change)) => {
                take_in(shared, &change);
                pause = RetryPause::default();
                continue;
            }
            Ok(None) if stream.is_alive() => continue,
            Ok(None) => None,
            Err(error) => Some(error),
        };
        let token = match &error {
            Some(error) if !fault::is_stream_lost(error) => stream.resume_token(),
            _ => None,
        };
        let said = error.as_ref().map_or_else(|| "it ended".to_owned(), fault::reason);
        tracing::warn!(reason = %said, "the change stream broke; reopening it");
        stream = reopen(shared, token, &mut pause).await;
    }
}

/// Retries until the stream is open or the store closes.
async fn reopen(shared: &Arc<MongoShared>, mut token: Option<ResumeToken>, pause: &mut RetryPause) -> ChangeFeed {
    loop {
        pause.wait().await;
        match open(shared, token.clone()).await {
            Ok(stream) if token.is_some() => return stream,
            Ok(stream) => {
                // From here on nothing is missed; what came before is read.
                if read_heads(shared).await {
                    shared.listeners.tell_all();
                    return stream;
                }
            }
            Err(error) if fault::is_stream_lost(&error) => token = None,
            Err(error) => tracing::debug!(reason = %fault::reason(&error), "the change stream cannot be opened yet"),
        }
    }
}

async fn read_heads(shared: &Arc<MongoShared>) -> bool {
    for log in shared.known_logs() {
        if let Err(error) = reload(shared, &log).await {
            tracing::warn!(log = %log.name, %error, "the log's head cannot be read");
            return false;
        }
    }
    true
}

fn take_in(shared: &Arc<MongoShared>, change: &RawDocumentBuf) {
    if let Some(what) = dropped(shared, change) {
        tracing::error!(%what, "dropped in MongoDB; restore it and start the hub again");
        shared.dropped.lock().get_or_insert(what);
        return;
    }
    let Some((log, of_batches)) = log_of(shared, change) else {
        tell_of_document(shared, change);
        return;
    };
    let Some(log) = shared.known_log(&log) else {
        return;
    };
    let Ok(document) = change.get_document("fullDocument") else {
        return;
    };
    if !of_batches {
        let document = Document::try_from(document).unwrap_or_default();
        let now = crate::trim::LogDocument::read(&document);
        let mut known = log.lock();
        known.start_at(now.start, now.removed);
        known.begins_at(now.begun, now.ended);
        known.set_options(now.options);
        known.latest_from = known.latest_from.max(now.latest_from);
        known.is_made = true;
        return;
    }
    // No task on this hub has used the log yet: its end is enough.
    if !log.is_loaded() {
        if let Ok(head) = BatchHead::read(document) {
            log.lock().observe(&head, &[], shared.options.clock.monotonic());
        }
        return;
    }
    match StoredBatch::read(document) {
        Ok(batch) => take_in_read(shared, &log, batch),
        Err(_) => tracing::error!(log = %log.name, "cannot read a batch from the change stream"),
    }
    fill_soon(shared, &log);
}

/// The collection of the store, or the database, that is gone.
fn dropped(shared: &MongoShared, change: &RawDocumentBuf) -> Option<String> {
    let collections = &shared.collections;
    match change.get_str("operationType").ok()? {
        "dropDatabase" => Some(format!("the database {}", collections.database.name())),
        "drop" | "rename" => {
            let name = change.get_document("ns").ok()?.get_str("coll").ok()?;
            let is_own = OWN.iter().filter(|own| **own != EVENTS).any(|own| collections.name(own) == name);
            is_own.then(|| format!("the collection {name}"))
        }
        _ => None,
    }
}

fn tell_of_document(shared: &MongoShared, change: &RawDocumentBuf) {
    let named = || {
        let collection = change.get_document("ns").ok()?.get_str("coll").ok()?;
        Some((collection, change.get_document("documentKey").ok()?.get_str("_id").ok()?))
    };
    let Some((name, key)) = named() else {
        return;
    };
    let told = shared.options.told_documents.iter();
    for collection in told.filter(|collection| shared.collections.documents_name(collection) == name) {
        // There is no value if the document was deleted, now or since.
        let written = change.get_document("fullDocument").ok();
        match written.map(|written| document::read(collection, written)).transpose() {
            Ok(Some(document)) => shared.listeners.tell(collection, DocumentNews::Written(document)),
            Ok(None) => shared.listeners.tell(collection, DocumentNews::Deleted(key.to_owned())),
            Err(error) => tracing::error!(%error, "skipped a document from the change stream"),
        }
    }
}

/// The log it is about, and whether it is one of its batches.
fn log_of(shared: &MongoShared, change: &RawDocumentBuf) -> Option<(LogName, bool)> {
    let collection = change.get_document("ns").ok()?.get_str("coll").ok()?;
    let key = change.get_document("documentKey").ok()?.get_document("_id").ok()?;
    let topic = TopicName::parse(key.get_str("topic").ok()?).ok()?;
    let partition = u32::try_from(key.get_i32("partition").ok()?).ok()?;
    Some((LogName::new(topic, partition), collection == shared.collections.batches.name()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn after_a_stream_loses_its_position_listeners_read_everything() {
        let url = prom_testkit::mongo::shared().await.unwrap().fresh_url();
        let shared = Arc::new(crate::open::open(&url, crate::MongoOptions::default()).await.unwrap());
        let mut watch = shared.listeners.watch("topics");
        drop(reopen(&shared, None, &mut RetryPause::default()).await);
        assert_eq!(watch.next().await.unwrap(), DocumentNews::Any);
    }
}
