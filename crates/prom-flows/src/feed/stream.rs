//! The server of a feed: opening its change stream, asking for the time.
//!
//! A change may be larger than an answer can be: a document of 16 MB and what was updated in it. Such a change could never be an
//! event whole, so it is not asked for in fragments. The stream is opened again with large parts left on the server; their sizes
//! come instead, and the fields that the feed's policy names.

use std::sync::Arc;
use std::time::Duration;

use mongodb::action::Watch;
use mongodb::bson::{Bson, Document, RawDocumentBuf, Timestamp, doc};
use mongodb::change_stream::ChangeStream;
use mongodb::options::{ClientOptions, FullDocumentBeforeChangeType, FullDocumentType};
use mongodb::{Client, Database};
use tokio::time::timeout;

use super::change::CUT;
use super::error::FeedError;
use super::limits::{ANSWER_CHANGES, CALL_TIMEOUT, CUT_BYTES, STREAM_AWAIT};
use super::options::{BeforeImage, FeedOptions, FullDocument, Oversize};
use super::position::{ClusterTime, StreamPlace, token_of};

pub(crate) type RawChanges = ChangeStream<RawDocumentBuf>;

/// Whether large parts of changes stay on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LargeParts {
    Sent,
    Left,
}

/// How a change stream is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamForm {
    pub large: LargeParts,
    /// Changes of one answer. A change that the server cannot give fails the whole answer, also what is before it.
    pub answer_changes: u32,
}

impl Default for StreamForm {
    fn default() -> Self {
        Self { large: LargeParts::Sent, answer_changes: ANSWER_CHANGES }
    }
}

/// The connection of a feed.
#[derive(Clone)]
pub(crate) struct FeedServer {
    pub database: Database,
    options: Arc<FeedOptions>,
}

impl FeedServer {
    pub async fn connect(options: Arc<FeedOptions>) -> Result<Self, FeedError> {
        let mut parsed = ClientOptions::parse(&options.url).await?;
        parsed.app_name.get_or_insert_with(|| format!("prom feed {}", options.name));
        parsed.server_selection_timeout.get_or_insert(Duration::from_secs(10));
        let database = Client::with_options(parsed)?.database(&options.source.database);
        Ok(Self { database, options })
    }

    pub async fn open(&self, at: &StreamPlace, form: StreamForm) -> Result<RawChanges, FeedError> {
        let collection = self.options.source.collection.as_ref();
        let collection = collection.map(|name| self.database.collection::<Document>(name));
        let changes = match &collection {
            Some(collection) => self.call(self.watch(collection.watch(), at, form)?).await?.with_type(),
            None => self.call(self.watch(self.database.watch(), at, form)?).await?.with_type(),
        };
        Ok(changes)
    }

    fn watch<'a, T>(&self, watch: Watch<'a, T>, at: &StreamPlace, form: StreamForm) -> Result<Watch<'a, T>, FeedError> {
        let pipeline = match form.large {
            LargeParts::Sent => Vec::new(),
            LargeParts::Left => vec![leave_large_parts(&self.options.oversize)],
        };
        let watch = watch.pipeline(pipeline).max_await_time(STREAM_AWAIT).batch_size(form.answer_changes);
        let watch = match at {
            StreamPlace::After(token) => watch.start_after(token_of(token)?),
            StreamPlace::From(time) => watch.start_at_operation_time(Timestamp::from(*time)),
        };
        let watch = match self.options.full_document {
            FullDocument::UpdateLookup => watch.full_document(FullDocumentType::UpdateLookup),
            FullDocument::WhenAvailable => watch.full_document(FullDocumentType::WhenAvailable),
            FullDocument::Required => watch.full_document(FullDocumentType::Required),
            FullDocument::None => watch,
        };
        Ok(match self.options.before {
            BeforeImage::None => watch,
            BeforeImage::WhenAvailable => {
                watch.full_document_before_change(FullDocumentBeforeChangeType::WhenAvailable)
            }
            BeforeImage::Required => watch.full_document_before_change(FullDocumentBeforeChangeType::Required),
        })
    }

    /// The newest moment of the server's log.
    pub async fn now(&self) -> Result<ClusterTime, FeedError> {
        let hello = self.call(self.database.run_command(doc! { "hello": 1 })).await?;
        match hello.get_timestamp("operationTime") {
            Ok(time) => Ok(time.into()),
            Err(_) => Err(FeedError::Stop {
                reason:
                    "the server is in no replica set, and only those have change streams; make it a set of one member \
                         with rs.initiate(), then `prom feeds restart`"
                        .to_owned(),
            }),
        }
    }

    /// The collections that the feed reads.
    pub async fn collections(&self) -> Result<Vec<String>, FeedError> {
        if let Some(only) = &self.options.source.collection {
            return Ok(vec![only.clone()]);
        }
        let list = self.database.list_collection_names().filter(doc! { "type": "collection" });
        let mut names = self.call(list).await?;
        names.retain(|name| !name.starts_with("system."));
        names.sort();
        Ok(names)
    }

    /// No call waits without a deadline.
    pub async fn call<T>(&self, call: impl IntoFuture<Output = mongodb::error::Result<T>>) -> Result<T, FeedError> {
        Ok(timeout(CALL_TIMEOUT, call.into_future()).await.map_err(|_| FeedError::Silent)??)
    }
}

/// Each large part is replaced, and its size noted.
fn leave_large_parts(policy: &Oversize) -> Document {
    let size = |part: &str| doc! { "$bsonSize": { "$ifNull": [format!("${part}"), {}] } };
    let is_large = |part: &str| doc! { "$gt": [size(part), CUT_BYTES] };
    let unless_large = |part: &str, instead: Bson| {
        doc! { "$cond": [is_large(part), instead, format!("${part}")] }
    };
    let noted = |part: &str| doc! { "$cond": [is_large(part), size(part), "$$REMOVE"] };
    let removed = || Bson::from("$$REMOVE");
    let (document, before, update) = ("fullDocument", "fullDocumentBeforeChange", "updateDescription");
    doc! { "$set": {
        document: unless_large(document, left_of_document(policy)),
        before: unless_large(before, removed()),
        update: unless_large(update, removed()),
        CUT: { "document": noted(document), "before": noted(before), "update": noted(update) },
    } }
}

/// What stays of a large document: `_id`, and the named fields if they are small enough together.
fn left_of_document(policy: &Oversize) -> Bson {
    let id = doc! { "_id": "$fullDocument._id" };
    let Oversize::Project(fields) = policy else {
        return id.into();
    };
    let mut projected = id.clone();
    for field in fields {
        projected.insert(field, doc! { "$getField": { "field": { "$literal": field }, "input": "$fullDocument" } });
    }
    let is_small = doc! { "$lte": [{ "$bsonSize": "$$projected" }, CUT_BYTES] };
    doc! { "$let": { "vars": { "projected": projected }, "in": { "$cond": [is_small, "$$projected", id] } } }.into()
}
