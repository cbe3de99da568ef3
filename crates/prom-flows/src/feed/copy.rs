//! Copying what a collection holds, so that the copy joins the stream.
//!
//! ```text
//!   the server's time T ─▶ kept ─▶ documents as they were at T, by _id, step by step ─▶ the stream from behind T
//! ```
//!
//! Promises: each step commits its events with how far it is, so a copy that is cut off goes on where it was. Documents are read as
//! they were at T, and the stream begins behind T, so no change is missed and none comes twice. MongoDB keeps that state for five
//! minutes unless it is told otherwise (`minSnapshotHistoryWindowInSeconds`). A copy that takes longer reads newer documents from
//! there on; the stream still begins behind the first T, so changes that such a document contains already come once more behind it.

use mongodb::bson::{Document, RawDocument, RawDocumentBuf, Timestamp, doc};
use prom_engine::Bus;
use serde::{Deserialize, Serialize};

use super::convert::Converter;
use super::error::FeedError;
use super::gap::{GapCause, PendingGap};
use super::limits::{BATCH_BYTES, COPY_DOCUMENTS};
use super::position::{ClusterTime, from_hexadecimal};
use super::stream::FeedServer;
use super::write::FeedWriter;

/// How far a copy is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CopyProgress {
    /// Documents are read as they were then.
    pub at: ClusterTime,
    /// Collections that are not done; the first of them is under way. Unknown before the first step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Vec<String>>,
    /// The last `_id` of the collection under way: `{ _id }` as BSON, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Documents so far.
    pub copied: u64,
    /// It fills a gap, and readers are told when it is done.
    #[serde(default)]
    pub after_gap: bool,
}

impl CopyProgress {
    /// Of everything, as it is at this moment.
    pub(crate) fn begin(at: ClusterTime) -> Self {
        Self { at, left: None, last: None, copied: 0, after_gap: false }
    }
}

/// One step of the copy that the position tells of. Afterwards the position tells of what is left.
pub(crate) async fn copy_step(
    bus: &Bus,
    server: &FeedServer,
    converter: &Converter,
    writer: &mut FeedWriter<'_>,
) -> Result<(), FeedError> {
    let Some(copy) = writer.held.position.copy.clone() else {
        return Ok(());
    };
    let Some(left) = copy.left.clone() else {
        let left = server.collections().await?;
        writer.held.position.copy = Some(CopyProgress { left: Some(left), ..copy });
        return writer.publish(Vec::new(), None).await;
    };
    let Some(collection) = left.first().cloned() else {
        writer.held.position.copy = None;
        if copy.after_gap {
            let at = format!("{}.{}", copy.at.seconds, copy.at.increment);
            let details = [("documents", copy.copied.to_string()), ("cluster_time", at.clone())];
            writer.held.position.gap = Some(PendingGap::new(GapCause::Copied, at, details));
        }
        return writer.publish(Vec::new(), None).await;
    };
    let documents = read_step(server, &collection, &copy).await?;
    if documents.is_empty() {
        let left = left.into_iter().skip(1).collect();
        writer.held.position.copy = Some(CopyProgress { left: Some(left), last: None, ..copy });
        return writer.publish(Vec::new(), None).await;
    }
    let (converter, at) = (converter.clone(), Timestamp::from(copy.at));
    let convert = move |document: RawDocumentBuf| converter.copied(&document, &collection, at);
    let converted = bus.in_turns(documents, convert).await?.into_iter().collect::<Result<Vec<_>, _>>()?;
    writer.publish(converted, None).await
}

/// The next documents by `_id`; none if the collection is done. Index bounds, not a comparison, find the place: `_id`s of several
/// types are in one order there.
async fn read_step(
    server: &FeedServer,
    collection: &str,
    copy: &CopyProgress,
) -> Result<Vec<RawDocumentBuf>, FeedError> {
    let mut find = doc! {
        "find": collection,
        "hint": { "_id": 1 },
        "sort": { "_id": 1 },
        "limit": COPY_DOCUMENTS,
        "batchSize": COPY_DOCUMENTS,
        "readConcern": { "level": "snapshot", "atClusterTime": Timestamp::from(copy.at) },
    };
    let last = match &copy.last {
        Some(last) => Some(RawDocumentBuf::from_bytes(from_hexadecimal(last)?)?),
        None => None,
    };
    if let Some(last) = &last {
        find.insert("min", Document::try_from(last.as_ref())?);
    }
    let mut cursor = server.call(server.database.run_cursor_command(find)).await?.with_type::<RawDocumentBuf>();
    let (mut documents, mut bytes) = (Vec::new(), 0);
    // An answer may hold as little as one document, so only the end of the cursor is the end of the collection.
    while bytes < BATCH_BYTES && server.call(cursor.advance()).await? {
        let document = cursor.current();
        // The bound is inclusive.
        let is_bound = documents.is_empty() && last.as_ref().is_some_and(|last| is_same_id(last, document));
        if !is_bound {
            bytes += document.as_bytes().len();
            documents.push(document.to_owned());
        }
    }
    Ok(documents)
}

fn is_same_id(one: &RawDocument, other: &RawDocument) -> bool {
    matches!((one.get("_id"), other.get("_id")), (Ok(one), Ok(other)) if one == other)
}
