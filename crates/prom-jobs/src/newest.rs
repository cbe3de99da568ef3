//! The newest event of each key in a range of offsets, key by key, in bounded memory.
//!
//! ```text
//!   from_key ──┤ b  c  f  h ├── upto ······        keys from `upto` on did not fit: another scan begins there
//! ```
//!
//! A scan reads the range once and keeps the smallest keys from one on that the caller names. So millions of keys are gone
//! through with the memory of a few thousand, at the price of reading the range again for each of these pieces.

use std::collections::{BTreeMap, HashMap};

use prom_engine::{Bus, StoredEvent};
use prom_store::ReadLimit;
use prom_types::{EpochMs, Offset, TopicName};

use crate::JobError;

/// Where the newest event of a key is, and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyState {
    /// The key.
    pub key: String,
    /// Where the event is.
    pub partition: u32,
    /// Where the event is.
    pub offset: Offset,
    /// When it was stored.
    pub stored_ts: EpochMs,
    /// The whole event as JSON text; `None`: the key is deleted.
    pub event: Option<Vec<u8>>,
}

/// How much a scan remembers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanRoom {
    pub keys: usize,
    pub bytes: usize,
}

/// What a scan found.
pub(crate) struct NewestByKey {
    from_key: String,
    room: ScanRoom,
    bytes: usize,
    found: BTreeMap<String, KeyState>,
    /// Everything before it was found; `None`: everything.
    pub upto: Option<String>,
}

/// The text that follows a key: no other lies between.
pub(crate) fn key_after(key: &str) -> String {
    format!("{key}\0")
}

impl KeyState {
    /// Of an event with this key.
    pub fn of(event: &StoredEvent, key: &str) -> Self {
        let text = || {
            let mut text = Vec::new();
            event.write_json(&mut text);
            text
        };
        Self {
            key: key.to_owned(),
            partition: event.partition(),
            offset: event.offset(),
            stored_ts: event.stored_ts(),
            event: (!event.is_tombstone()).then(text),
        }
    }

    /// Whether it came after another event of its key. The partitions of a topic know no order but time.
    pub fn is_newer(&self, other: &Self) -> bool {
        (self.stored_ts, self.partition, self.offset) > (other.stored_ts, other.partition, other.offset)
    }

    fn bytes(&self) -> usize {
        2 * self.key.len() + self.event.as_ref().map_or(0, Vec::len) + 128
    }
}

impl NewestByKey {
    /// Of keys from this one on.
    pub fn new(from_key: String, room: ScanRoom) -> Self {
        Self { from_key, room, bytes: 0, found: BTreeMap::new(), upto: None }
    }

    /// Reads the events of a topic within these offsets.
    pub async fn scan(
        mut self,
        bus: &Bus,
        topic: &TopicName,
        from: &[Offset],
        to: &[Offset],
    ) -> Result<Self, JobError> {
        for (partition, (&from, &to)) in (0..).zip(from.iter().zip(to)) {
            let mut next = from;
            while next < to {
                let page = bus.read(topic, partition, next, ReadLimit::default()).await?;
                if let Some(damage) = page.damage {
                    return Err(JobError::Unreadable { topic: topic.clone(), reason: damage.to_string() });
                }
                let within = page.events.partition_point(|event| event.offset() < to);
                self.take(&page.events[..within]);
                if page.next <= next {
                    break;
                }
                next = page.next;
            }
        }
        Ok(self)
    }

    /// By key.
    pub fn into_found(self) -> BTreeMap<String, KeyState> {
        self.found
    }

    /// Events of one partition, in offset order.
    fn take(&mut self, events: &[StoredEvent]) {
        let mut last: HashMap<&str, &StoredEvent> = HashMap::new();
        for event in events {
            if let Some(key) = event.key().filter(|key| self.is_wanted(key)) {
                last.insert(key, event);
            }
        }
        for (key, event) in last {
            // It may have been given up for others of this page.
            if !self.is_wanted(key) {
                continue;
            }
            let state = KeyState::of(event, key);
            let before = self.found.get(key);
            if before.is_some_and(|before| before.is_newer(&state)) {
                continue;
            }
            self.bytes += state.bytes();
            self.bytes -= before.map_or(0, KeyState::bytes);
            self.found.insert(key.to_owned(), state);
            self.make_room();
        }
    }

    fn is_wanted(&self, key: &str) -> bool {
        *key >= *self.from_key && self.upto.as_deref().is_none_or(|upto| key < upto)
    }

    fn make_room(&mut self) {
        while self.found.len() > 1 && (self.found.len() > self.room.keys || self.bytes > self.room.bytes) {
            if let Some((key, gone)) = self.found.pop_last() {
                self.bytes -= gone.bytes();
                self.upto = Some(key);
            }
        }
    }
}
