//! Masks: parts of payloads that are hidden from readers who do not administer the topic.
//!
//! ```text
//!   stored event ─▶ TopicMask ─▶ the event as such a reader sees it ─▶ upcast, searched, written
//!                     ├─ of the topic itself
//!                     └─ of the topic that it comes from: dlq.T, T.snapshot, T.vN
//! ```
//!
//! Every way out asks here: [`Bus::mask_of`] for one topic, [`MaskedView`] for a stream over many. An event is masked before
//! anything else is done with it, so that no filter, program or upcaster of such a reader meets what is hidden.
//!
//! Promises: what a pointer names is replaced by `"[masked]"`, wherever it stands, also where a name is written twice or with
//! escapes; everything else leaves byte by byte as it was. What cannot be read as it should is hidden whole. A topic without a
//! mask costs its readers a look-up, and publishers and consumers nothing.

mod pointers;
mod text;

use std::sync::Arc;

use hashbrown::HashMap;
use prom_store::{Record, RecordParts};
use prom_types::TopicName;
use tokio::sync::watch;

use crate::bus::Core;
use crate::schema::{UPCAST_ERROR, UPCASTED_FROM};
use crate::{Bus, Error, StoredEvent};

use self::pointers::Hidden;
pub(crate) use self::pointers::check;
use self::text::MASKED;

/// Of a letter of letters of a snapshot there is none: names are shortened at most so often.
const ORIGINS: usize = 4;

/// What is hidden in the events of one topic.
#[derive(Debug, Clone)]
pub struct TopicMask {
    /// In the payload.
    hidden: Hidden,
    /// In a whole event.
    in_event: Hidden,
    /// In a whole event that an upcaster made.
    in_upcast: Hidden,
}

/// Masks the events of any topics, for a reader who sees none of them whole.
pub struct MaskedView {
    bus: Bus,
    known: HashMap<TopicName, Option<Arc<TopicMask>>>,
    /// Changes when a topic is made or changed.
    topics: watch::Receiver<usize>,
}

/// Where a topic gets its events from, if that is another topic's.
struct Origin {
    topic: TopicName,
    /// Where the payload of the other topic's event is in the payload.
    below: &'static [&'static str],
}

impl Origin {
    fn of(topic: &TopicName) -> Option<Self> {
        if let Some(topic) = topic.letters_of() {
            return Some(Self { topic, below: &["original", "payload"] });
        }
        let (base, last) = topic.as_str().rsplit_once('.')?;
        let is_version = last.strip_prefix('v').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        let topic = TopicName::parse(base).ok()?;
        match last {
            "snapshot" => Some(Self { topic, below: &["payload"] }),
            _ if is_version => Some(Self { topic, below: &[] }),
            _ => None,
        }
    }
}

/// The topics whose administrators see the events of this one whole: all of them have to be administered.
pub fn administered_with(topic: &TopicName) -> Vec<TopicName> {
    let mut topics = Vec::new();
    let mut at = Some(topic.clone());
    while let Some(topic) = at.take().filter(|_| topics.len() < ORIGINS) {
        at = Origin::of(&topic).map(|origin| origin.topic);
        if !topic.is_dead_letters() {
            topics.push(topic);
        }
    }
    topics
}

impl Core {
    /// As [`Bus::mask_of`].
    pub async fn mask_of(&self, topic: &TopicName) -> Result<Option<Arc<TopicMask>>, Error> {
        let mut hidden = Hidden::default();
        let (mut at, mut below) = (topic.clone(), Vec::new());
        for _ in 0..ORIGINS {
            let known = match self.topics.require(&*self.store, &at).await {
                Err(Error::UnknownTopic { .. }) => None,
                known => Some(known?),
            };
            if let Some(known) = known.filter(|known| !known.settings.mask.is_empty()) {
                hidden.add(&below, &known.settings.mask)?;
                if below.first() == Some(&"original") {
                    // Why a group gave up may quote what it could not handle.
                    hidden.add(&[], &["/err".to_owned()])?;
                }
            }
            let Some(origin) = Origin::of(&at) else { break };
            below.extend_from_slice(origin.below);
            at = origin.topic;
        }
        let mask = || TopicMask {
            in_event: hidden.clone().inside("payload"),
            in_upcast: Hidden::all().inside("payload"),
            hidden: hidden.clone(),
        };
        Ok((!hidden.is_empty()).then(|| Arc::new(mask())))
    }
}

impl Bus {
    /// What is hidden in the events of a topic from those who do not administer it; `None` if nothing is.
    pub async fn mask_of(&self, topic: &TopicName) -> Result<Option<Arc<TopicMask>>, Error> {
        self.core().mask_of(topic).await
    }

    /// A view of events for a reader who sees none of them whole.
    pub fn masked_view(&self) -> MaskedView {
        MaskedView { bus: self.clone(), known: HashMap::new(), topics: self.core().topics.watch() }
    }
}

impl TopicMask {
    /// The event as one sees it from whom parts are hidden.
    pub fn seen(&self, event: StoredEvent) -> StoredEvent {
        match self.seen_record(event.record()) {
            Some(record) => StoredEvent::new(event.origin.clone(), record),
            None => event,
        }
    }

    /// `None` where nothing of it is hidden.
    pub(crate) fn seen_record(&self, record: &Record) -> Option<Record> {
        if is_upcast(record.meta()) || is_upcast(record.payload().as_bytes()) {
            return Some(rewritten(record, Some(MASKED), without_reason(record).as_deref()));
        }
        let hidden = text::hide(&self.hidden, record.payload().as_bytes());
        let meta = without_reason(record);
        if hidden.is_none() && meta.is_none() {
            return None;
        }
        Some(rewritten(record, hidden.as_deref(), meta.as_deref()))
    }

    /// The JSON text of a whole event as one sees it from whom parts are hidden; `None` where nothing of it is.
    pub fn seen_text(&self, event: &[u8]) -> Option<Vec<u8>> {
        text::hide(if is_upcast(event) { &self.in_upcast } else { &self.in_event }, event)
    }

    /// Whether a member of the payload, by the names on the way to it, is hidden, or has hidden parts.
    pub fn touches<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> bool {
        self.hidden.touches(names)
    }
}

impl MaskedView {
    /// The events as such a reader sees them, in the same order.
    pub async fn apply(&mut self, events: Vec<StoredEvent>) -> Result<Vec<StoredEvent>, Error> {
        if self.topics.has_changed().unwrap_or(true) {
            self.topics.borrow_and_update();
            self.known.clear();
        }
        let mut seen = Vec::with_capacity(events.len());
        for event in events {
            let mask = match self.known.get(event.topic()) {
                Some(mask) => mask.clone(),
                None => {
                    let mask = self.bus.mask_of(event.topic()).await?;
                    self.known.insert(event.topic().clone(), mask.clone());
                    mask
                }
            };
            seen.push(match mask {
                Some(mask) => mask.seen(event),
                None => event,
            });
        }
        Ok(seen)
    }
}

/// Whether an upcaster made the event, or one that is kept in it: it may have moved what pointers name, so nothing of the payload
/// is shown. A publisher that writes this name into a payload hides it.
fn is_upcast(text: &[u8]) -> bool {
    memchr::memmem::find(text, UPCASTED_FROM.as_bytes()).is_some()
}

/// Why upcasting failed may quote the payload.
fn without_reason(record: &Record) -> Option<Vec<u8>> {
    let name = format!("\"{UPCAST_ERROR}\":");
    let meta = record.meta();
    let at = meta.windows(name.len()).position(|part| part == name.as_bytes())?;
    let value = at + name.len();
    let end = text::end_of_value(meta, value)?;
    let masked = [&meta[..value], MASKED, &meta[end..]];
    Some(masked.concat())
}

/// The record with another payload or other headers. Where that cannot be, everything is hidden.
fn rewritten(record: &Record, payload: Option<&[u8]>, meta: Option<&[u8]>) -> Record {
    let stored = record.payload();
    let parts = |payload, meta| RecordParts {
        offset: record.offset(),
        stored_ts: record.stored_ts(),
        ts: record.ts(),
        id: record.id(),
        key: record.key(),
        meta,
        payload,
        exact: record.is_exact(),
    };
    let write = |parts: RecordParts<'_>| -> Option<Record> {
        let mut bytes = Vec::new();
        parts.write(&mut bytes).ok()?;
        Record::trusted(&bytes.into()).ok()
    };
    let wanted = write(parts(payload.unwrap_or(stored.as_bytes()), meta.unwrap_or(record.meta())));
    wanted.or_else(|| write(parts(MASKED, b""))).unwrap_or_else(|| record.clone())
}
