//! From a change to what is published of it. Runs programs and may read large documents: not for a thread that serves others.
//!
//! | change | payload | headers beside `x-mongo-op` and `x-change-cluster-time` |
//! | --- | --- | --- |
//! | a document | the document, or what the map makes of it | |
//! | an update without its document | what was updated | `x-document: gone`, `unavailable` or `none` |
//! | a delete | `null` | |
//! | above the size limit | named fields, or where it is | `x-oversize` |

use std::collections::BTreeMap;
use std::sync::Arc;

use mongodb::bson::{RawBson, RawBsonRef, RawDocument, RawDocumentBuf, Timestamp, cstr};
use parking_lot::Mutex;
use prom_engine::RunError;
use prom_types::limits::PAYLOAD_BYTES;
use prom_types::{EpochMs, EventId, Headers, Json, NewEvent, TopicName};

use super::change::{Change, ChangeOp, told_time};
use super::error::FeedError;
use super::extended_json::{write_document, write_value};
use super::fit::{self, OversizeFit};
use super::gap::{GapCause, PendingGap};
use super::limits::{MAP_OUTPUTS, UNIT_BYTES};
use super::options::{FeedOptions, FullDocument, NumberForm};
use super::position::{hexadecimal, token_text};
use super::programs::{FeedPrograms, input};

/// What is needed to convert changes, on any thread.
#[derive(Clone)]
pub(crate) struct Converter {
    pub options: Arc<FeedOptions>,
    pub programs: FeedPrograms,
    /// The collection that each topic of a pattern is of: keys of two would be mixed up in one.
    pub collections: Arc<Mutex<BTreeMap<TopicName, String>>>,
}

/// A change on its way to the topic.
pub(crate) struct ConvertedChange {
    /// Where the feed is behind it.
    pub mark: ChangeMark,
    /// When it was committed.
    pub at_ms: Option<EpochMs>,
    /// Parts of it were left on the server.
    pub was_cut: bool,
    pub outcome: ChangeOutcome,
}

/// Where a feed is behind a change.
pub(crate) enum ChangeMark {
    /// In the stream.
    Token(String),
    /// In a copy: `{ _id }` as a position keeps it.
    Copied(String),
}

/// What comes of a change.
pub(crate) enum ChangeOutcome {
    /// In this order; none if it was filtered out.
    Events(Vec<FeedEvent>),
    Gaps(Vec<(TopicName, PendingGap)>),
    /// Its collection has no topic.
    NoTopic {
        reason: String,
    },
    /// The map failed on it, or it cannot be an event of its topic. The event says where it is.
    Unfit {
        event: Box<NewEvent>,
        reason: String,
    },
}

pub(crate) struct FeedEvent {
    pub event: NewEvent,
    /// It goes to the dead letters, for this reason.
    pub letter: Option<String>,
}

impl Converter {
    /// A change of the stream.
    pub fn change(&self, raw: &RawDocument) -> Result<ConvertedChange, FeedError> {
        let change = Change::read(raw)?;
        let token = match change.token {
            Some(token) => token_text(token)?,
            None => return Err(FeedError::Position { reason: "a change came without a token".to_owned() }),
        };
        let origin = format!("feed:{}:{token}", self.options.name);
        let outcome = match change.op {
            ChangeOp::Insert | ChangeOp::Update | ChangeOp::Replace | ChangeOp::Delete => {
                self.document(&change, &origin)?
            }
            ChangeOp::Drop | ChangeOp::Rename => self.gaps(&change, &token),
            // A dropped database was told of collection by collection.
            ChangeOp::DropDatabase | ChangeOp::Invalidate | ChangeOp::Copied | ChangeOp::Other(_) => {
                ChangeOutcome::Events(Vec::new())
            }
        };
        let at_ms = change.at_ms();
        Ok(ConvertedChange { mark: ChangeMark::Token(token), at_ms, was_cut: change.cut.is_cut(), outcome })
    }

    /// A document of a copy.
    pub fn copied(&self, raw: &RawDocument, collection: &str, at: Timestamp) -> Result<ConvertedChange, FeedError> {
        let change = Change::copied(&self.options.source.database, collection, raw, at);
        let id = change.id.unwrap_or(RawBsonRef::Null);
        let mut text = Vec::new();
        write_value(id, NumberForm::Typed, &mut text)?;
        let origin = format!(
            "feed:{}:copy:{}:{collection}:{}",
            self.options.name,
            told_time(at),
            String::from_utf8_lossy(&text)
        );
        let mut last = RawDocumentBuf::new();
        last.append(cstr!("_id"), RawBson::from(id));
        let mark = hexadecimal(last.as_bytes());
        let outcome = self.document(&change, &origin)?;
        Ok(ConvertedChange { mark: ChangeMark::Copied(mark), at_ms: None, was_cut: false, outcome })
    }

    fn document(&self, change: &Change<'_>, origin: &str) -> Result<ChangeOutcome, FeedError> {
        let numbers = self.options.numbers;
        let key = key_of(change.id)?;
        let input = match self.programs.is_empty() {
            true => Vec::new(),
            false => input(change, &key, numbers)?,
        };
        let wanted = self.programs.wants(&input);
        if let Ok(false) = wanted {
            return Ok(ChangeOutcome::Events(Vec::new()));
        }
        let topic = match self.topic(change.collection) {
            Ok(topic) => topic,
            Err(reason) => return Ok(ChangeOutcome::NoTopic { reason }),
        };
        let mut base = self.event(change, topic, key, origin)?;
        match wanted {
            Ok(_) => {}
            // What is too large to be looked at is published by the rule for what is too large.
            Err(RunError::Limit(_)) if input.len() > PAYLOAD_BYTES => {}
            Err(error) => return unfit(base, change, format!("the filter failed: {error}")),
        }
        if change.op == ChangeOp::Delete {
            return Ok(one(base));
        }
        if let Some(bytes) = self.cut_bytes(change) {
            return self.fitted(base, change, bytes);
        }
        let is_described = change.document.is_none();
        if self.programs.has_map() && (!is_described || self.options.full_document == FullDocument::None) {
            return match self.programs.payloads(&input) {
                Ok(payloads) => self.mapped(&base, change, payloads),
                Err(RunError::Limit(_)) if input.len() > PAYLOAD_BYTES => self.fitted(base, change, input.len()),
                Err(error) => unfit(base, change, format!("the map failed: {error}")),
            };
        }
        let mut text = Vec::with_capacity(256);
        match change.document.or(change.update) {
            Some(document) => write_document(document, numbers, &mut text)?,
            None => text.extend_from_slice(b"{}"),
        }
        if text.len() > PAYLOAD_BYTES {
            return self.fitted(base, change, text.len());
        }
        base.payload = Json::trusted(text.into());
        Ok(one(base))
    }

    /// The event without its payload, which is `null` until there is one.
    fn event(&self, change: &Change<'_>, topic: TopicName, key: String, origin: &str) -> Result<NewEvent, FeedError> {
        let mut headers = Headers::default();
        headers.insert("x-mongo-op", change.op.as_str())?;
        if let Some(time) = change.cluster_time {
            headers.insert("x-change-cluster-time", told_time(time))?;
        }
        if change.op == ChangeOp::Update && change.document.is_none() {
            let document = match self.options.full_document {
                FullDocument::UpdateLookup => "gone",
                FullDocument::WhenAvailable | FullDocument::Required => "unavailable",
                FullDocument::None => "none",
            };
            headers.insert("x-document", document)?;
        }
        Ok(NewEvent {
            id: Some(EventId::derived(&format!("{origin}:0"))),
            exact: true,
            ts: change.at_ms(),
            key: Some(key),
            headers,
            ..NewEvent::new(topic, Json::trusted("null".into()))
        })
    }

    /// The topic of a collection, or why it has none.
    fn topic(&self, collection: &str) -> Result<TopicName, String> {
        let advice = "let a feed of its own name its topic, and leave the collection out here by a filter on .ns.coll";
        let topic = self.options.route.topic(collection);
        let topic = topic.map_err(|error| format!("collection {collection} has no topic ({error}); {advice}"))?;
        if self.options.route.is_pattern() {
            let mut taken = self.collections.lock();
            let first = taken.entry(topic.clone()).or_insert_with(|| collection.to_owned());
            if first != collection {
                return Err(format!("collections {first} and {collection} have the same topic {topic}; {advice}"));
            }
        }
        Ok(topic)
    }

    /// How large it would have been, if what makes the payload was left on the server.
    fn cut_bytes(&self, change: &Change<'_>) -> Option<usize> {
        let part = if change.document.is_some() { change.cut.document } else { change.cut.update };
        part.and_then(|bytes| usize::try_from(bytes).ok())
    }

    fn fitted(&self, mut event: NewEvent, change: &Change<'_>, bytes: usize) -> Result<ChangeOutcome, FeedError> {
        let fitted = fit::fit(change, bytes, &self.options.oversize, self.options.numbers)?;
        fit::mark(&mut event, fitted.how);
        event.payload = fitted.payload;
        let letter = (fitted.how == OversizeFit::Letter)
            .then(|| format!("the payload has {bytes} bytes, and an event takes {PAYLOAD_BYTES} at most"));
        Ok(ChangeOutcome::Events(vec![FeedEvent { event, letter }]))
    }

    fn mapped(&self, base: &NewEvent, change: &Change<'_>, payloads: Vec<Vec<u8>>) -> Result<ChangeOutcome, FeedError> {
        if payloads.len() > MAP_OUTPUTS {
            let reason = format!("the map made {} events of one change, and {MAP_OUTPUTS} is the most", payloads.len());
            return unfit(base.clone(), change, reason);
        }
        let bytes: usize = payloads.iter().map(Vec::len).filter(|bytes| *bytes <= PAYLOAD_BYTES).sum();
        if bytes > UNIT_BYTES {
            let reason = format!("the map made {bytes} bytes of one change, and {UNIT_BYTES} is the most");
            return unfit(base.clone(), change, reason);
        }
        let origin = base.id.map(|id| id.to_string()).unwrap_or_default();
        let mut events = Vec::with_capacity(payloads.len());
        for (index, payload) in payloads.into_iter().enumerate() {
            let mut event = base.clone();
            if index > 0 {
                event.id = Some(EventId::derived(&format!("{origin}:{index}")));
            }
            let bytes = payload.len();
            if bytes > PAYLOAD_BYTES {
                let ChangeOutcome::Events(fitted) = self.fitted(event, change, bytes)? else { continue };
                events.extend(fitted);
                continue;
            }
            match Json::parse(payload) {
                Ok(payload) => event.payload = payload,
                Err(error) => return unfit(base.clone(), change, format!("what the map made is refused: {error}")),
            }
            events.push(FeedEvent { event, letter: None });
        }
        Ok(ChangeOutcome::Events(events))
    }

    fn gaps(&self, change: &Change<'_>, token: &str) -> ChangeOutcome {
        let time = change.cluster_time.map(told_time).unwrap_or_default();
        let gap = |cause, details: Vec<(&str, String)>| {
            let details = details.into_iter().chain([("cluster_time", time.clone())]);
            PendingGap::new(cause, token, details)
        };
        let from = change.collection.to_owned();
        let mut told = Vec::new();
        match (change.op, change.renamed_to) {
            (ChangeOp::Drop, _) => told.push((from.clone(), gap(GapCause::Dropped, vec![("collection", from)]))),
            (ChangeOp::Rename, to) => {
                let to = to.unwrap_or_default().to_owned();
                let details = vec![("collection", from.clone()), ("to", to.clone())];
                told.push((from, gap(GapCause::Renamed, details.clone())));
                told.push((to, gap(GapCause::RenamedTo, details)));
            }
            _ => {}
        }
        told.retain(|(collection, _)| self.reads(collection));
        // A collection without a topic has no readers.
        let gaps =
            told.into_iter().filter_map(|(collection, gap)| Some((self.topic(&collection).ok()?, gap))).collect();
        ChangeOutcome::Gaps(gaps)
    }

    fn reads(&self, collection: &str) -> bool {
        self.options.source.collection.as_deref().is_none_or(|own| own == collection)
    }
}

fn one(event: NewEvent) -> ChangeOutcome {
    ChangeOutcome::Events(vec![FeedEvent { event, letter: None }])
}

fn unfit(mut event: NewEvent, change: &Change<'_>, reason: String) -> Result<ChangeOutcome, FeedError> {
    event.payload = fit::pointer(change, change.document.map_or(0, |document| document.as_bytes().len()))?;
    Ok(ChangeOutcome::Unfit { event: Box::new(event), reason })
}

/// Text as it is; anything else as canonical extended JSON.
fn key_of(id: Option<RawBsonRef<'_>>) -> Result<String, FeedError> {
    match id {
        Some(RawBsonRef::String(text)) => Ok(text.to_owned()),
        Some(id) => {
            let mut text = Vec::new();
            write_value(id, NumberForm::Typed, &mut text)?;
            String::from_utf8(text).map_err(|error| FeedError::Position { reason: error.to_string() })
        }
        None => Err(FeedError::Position { reason: "a change came without the _id of its document".to_owned() }),
    }
}
