//! Options of a feed: where it reads, what it publishes, and how it treats changes that do not fit.

use std::fmt;

use super::route::FeedRoute;

/// A change feed as it is configured.
#[derive(Clone, PartialEq, Eq)]
pub struct FeedOptions {
    /// Its name. The position is stored under it, and ids of events follow from it.
    pub name: String,
    /// The connection string; there may be a password in it, so it is never shown.
    pub url: String,
    /// What it reads.
    pub source: FeedSource,
    /// Where it publishes.
    pub route: FeedRoute,
    /// What an update brings.
    pub full_document: FullDocument,
    /// Whether filter and map see the document as it was.
    pub before: BeforeImage,
    /// A jq program over the change; only what it is true for is published.
    pub filter: Option<String>,
    /// A jq program over the change; its outputs become the payloads.
    pub map: Option<String>,
    /// Copies what is there before the first change.
    pub snapshot: bool,
    /// What becomes of a document above the size limit.
    pub oversize: Oversize,
    /// What becomes of a change that the map or the topic refuses.
    pub on_unfit: OnUnfit,
    /// What happens when MongoDB no longer knows the position.
    pub on_lost_token: OnLostToken,
    /// How numbers are written.
    pub numbers: NumberForm,
}

/// What a feed reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedSource {
    /// The database.
    pub database: String,
    /// One collection of it; all of them if `None`.
    pub collection: Option<String>,
}

/// What an update brings besides what was updated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FullDocument {
    /// The document as it is when the change is read.
    #[default]
    UpdateLookup,
    /// The document as it was right after the change, where the collection keeps such images.
    WhenAvailable,
    /// The same; a missing image stops the feed.
    Required,
    /// Nothing.
    None,
}

/// Whether filter and map see the document as it was before the change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BeforeImage {
    /// They do not.
    #[default]
    None,
    /// Where the collection keeps such images.
    WhenAvailable,
    /// Always; a missing image stops the feed.
    Required,
}

/// What becomes of a document above the size limit of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Oversize {
    /// Only these of its fields are published, and its `_id`.
    Project(Vec<String>),
    /// Where the document is, and how large.
    Pointer,
    /// That, among the dead letters of the topic.
    DeadLetter,
}

/// What becomes of a change that the map fails on, or that the topic refuses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnUnfit {
    /// The feed stops there and waits for an operator.
    #[default]
    Stop,
    /// It goes to the dead letters of the topic.
    DeadLetter,
}

/// What happens when MongoDB no longer knows the position of a feed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnLostToken {
    /// The feed stops and waits for an operator.
    #[default]
    Stop,
    /// It says `GAP` on the topic, copies what is there, and goes on.
    Resnapshot,
}

/// How numbers are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NumberForm {
    /// As numbers, digit by digit as they are stored (relaxed extended JSON).
    #[default]
    Plain,
    /// With their type, as text (canonical extended JSON): for readers whose numbers are doubles.
    Typed,
}

impl FeedOptions {
    /// What one writes who writes only the necessary.
    pub fn new(name: &str, url: &str, source: FeedSource, route: FeedRoute) -> Self {
        Self {
            name: name.to_owned(),
            url: url.to_owned(),
            source,
            route,
            full_document: FullDocument::default(),
            before: BeforeImage::default(),
            filter: None,
            map: None,
            snapshot: false,
            oversize: Oversize::Pointer,
            on_unfit: OnUnfit::default(),
            on_lost_token: OnLostToken::default(),
            numbers: NumberForm::default(),
        }
    }
}

impl fmt::Debug for FeedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedOptions").field("name", &self.name).field("source", &self.source).finish_non_exhaustive()
    }
}

impl FeedSource {
    /// One collection.
    pub fn collection(database: &str, collection: &str) -> Self {
        Self { database: database.to_owned(), collection: Some(collection.to_owned()) }
    }

    /// All collections of a database.
    pub fn database(database: &str) -> Self {
        Self { database: database.to_owned(), collection: None }
    }
}

impl fmt::Display for FeedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.database, self.collection.as_deref().unwrap_or("*"))
    }
}
