//! Where keys are in a log: blocks of offsets, each with the newest offset of every key in it.
//!
//! ```text
//!   log      │ 4096 │ 4096 │ … │ 4096 │ ····           not full yet: read
//!   level 0  [ key hash → offset ] …                    one document each
//!   level 1  [ 64 blocks, in 64 documents by key hash ]
//! ```
//!
//! The newest event of a key before an offset is found from there backwards, by one small document for 262 144 events, then
//! for 4096. A block without a document is read. Promises: the index is a cache, never evidence: what it says is looked up in
//! the log, and a hash that two keys share sends the reader into the block itself.

use std::collections::HashMap;
use std::hash::Hasher;

use prom_engine::{Bus, StoredEvent};
use prom_store::{DocumentWrite, ReadLimit};
use prom_types::{Offset, TopicName};

use crate::JobError;
use crate::newest::KeyState;

const COLLECTION: &str = "key_index";
const MARKS: &str = "key_index_marks";
const BLOCK: u64 = 4096;
const BLOCKS: u64 = 64;
const SUPER: u64 = BLOCK * BLOCKS;
const ENTRY: usize = 12;
/// Documents of blocks that are gone, deleted in one go.
const FORGET: usize = 256;
const ONE: ReadLimit = ReadLimit { events: 1, bytes: 1 };

/// What is known of a key in a range.
enum Hit {
    /// It is not there.
    None,
    /// The newest is at this offset, if the hash is that of the key.
    At(Offset),
    /// There is no document: the range has to be read.
    Unknown,
}

/// The log that is looked into.
pub(crate) struct IndexedLog<'a> {
    pub bus: &'a Bus,
    pub topic: &'a TopicName,
    pub life: u64,
    pub partition: u32,
}

impl IndexedLog<'_> {
    /// The newest event of a key in `[low, high)`; a tombstone without an event where compaction removed it.
    pub async fn newest_before(&self, key: &str, low: Offset, high: Offset) -> Result<Option<KeyState>, JobError> {
        let mut high = high;
        while high > low {
            let (level, mut begin) = self.range_before(low, high);
            let mut hit = self.look(level, begin, key).await?;
            if level > 0 && matches!(hit, Hit::Unknown) {
                begin = high - BLOCK;
                hit = self.look(0, begin, key).await?;
            }
            let end = high;
            high = begin.max(low);
            match hit {
                Hit::None => {}
                Hit::At(offset) if offset < end && offset >= low => {
                    let read = self.bus.read(self.topic, self.partition, offset, ONE).await?;
                    match read.events.first().filter(|event| event.offset() == offset) {
                        // A tombstone that is over: nothing older of the key is left.
                        None => return Ok(Some(self.deleted(key, offset))),
                        Some(event) if event.key() == Some(key) => return Ok(Some(KeyState::of(event, key))),
                        Some(_) => {
                            if let Some(found) = self.read_back(key, high, end).await? {
                                return Ok(Some(found));
                            }
                        }
                    }
                }
                Hit::At(offset) if offset < low => {}
                Hit::At(_) | Hit::Unknown => {
                    if let Some(found) = self.read_back(key, high, end).await? {
                        return Ok(Some(found));
                    }
                }
            }
        }
        Ok(None)
    }

    /// The largest block that ends there, or the one that the offset before lies in.
    fn range_before(&self, low: Offset, high: Offset) -> (u32, Offset) {
        if high.is_multiple_of(SUPER) && high >= low + SUPER {
            return (1, high - SUPER);
        }
        (0, (high - 1) / BLOCK * BLOCK)
    }

    fn deleted(&self, key: &str, offset: Offset) -> KeyState {
        KeyState { key: key.to_owned(), partition: self.partition, offset, stored_ts: i64::MIN, event: None }
    }

    async fn look(&self, level: u32, begin: Offset, key: &str) -> Result<Hit, JobError> {
        let hash = hash(key);
        let shard = if level == 0 { 0 } else { shard_of(hash) };
        let Some(stored) = self.bus.document(COLLECTION, &self.key(level, begin, shard)).await? else {
            return Ok(Hit::Unknown);
        };
        let entries = stored.value.as_chunks::<ENTRY>().0;
        let found = entries.binary_search_by_key(&hash, |entry| split(entry).0);
        Ok(found.map_or(Hit::None, |at| Hit::At(begin + u64::from(split(&entries[at]).1))))
    }

    /// Reads the range.
    async fn read_back(&self, key: &str, low: Offset, high: Offset) -> Result<Option<KeyState>, JobError> {
        let mut newest = None;
        let mut next = low;
        while next < high {
            let page = self.bus.read(self.topic, self.partition, next, ReadLimit::default()).await?;
            if let Some(damage) = page.damage {
                return Err(JobError::Unreadable { topic: self.topic.clone(), reason: damage.to_string() });
            }
            let is_it = |event: &&StoredEvent| event.key() == Some(key) && event.offset() < high;
            if let Some(event) = page.events.iter().rev().find(is_it) {
                newest = Some(KeyState::of(event, key));
            }
            if page.next <= next {
                break;
            }
            next = page.next;
        }
        Ok(newest)
    }

    fn key(&self, level: u32, begin: Offset, shard: u64) -> String {
        format!("{}{level}/{begin:016x}/{shard:02x}", self.prefix())
    }

    fn prefix(&self) -> String {
        format!("{}/{:016x}/{:04x}/", self.topic, self.life, self.partition)
    }
}

/// Brings the index of a topic's keys up to its last full block, as the keeper does for topics with a `snapshot` setting.
pub async fn index_keys(bus: &Bus, topic: &TopicName) -> Result<(), JobError> {
    let life = bus.history(topic).await?.history.life;
    fill(bus, topic, life).await
}

/// Brings the index of a topic up to its last full block.
pub(crate) async fn fill(bus: &Bus, topic: &TopicName, life: u64) -> Result<(), JobError> {
    for (partition, bounds) in (0..).zip(bus.bounds(topic).await?) {
        let log = IndexedLog { bus, topic, life, partition };
        let mark = bus.document(MARKS, &log.prefix()).await?;
        let mark = mark.and_then(|mark| std::str::from_utf8(&mark.value).ok()?.parse().ok()).unwrap_or(0);
        // A block whose beginning is gone says what is left of it.
        let mut begin = u64::max(mark, bounds.start / BLOCK * BLOCK);
        while begin + BLOCK <= bounds.next {
            log.fill_block(begin).await?;
            begin += BLOCK;
            if begin.is_multiple_of(SUPER) {
                log.fill_super(begin - SUPER).await?;
            }
        }
        log.forget_before(bounds.start).await?;
    }
    Ok(())
}

impl IndexedLog<'_> {
    async fn fill_block(&self, begin: Offset) -> Result<(), JobError> {
        let mut newest: HashMap<u64, u32> = HashMap::new();
        let mut next = begin;
        while next < begin + BLOCK {
            let page = self.bus.read(self.topic, self.partition, next, ReadLimit::default()).await?;
            if let Some(damage) = page.damage {
                return Err(JobError::Unreadable { topic: self.topic.clone(), reason: damage.to_string() });
            }
            for event in page.events.iter().filter(|event| event.offset() < begin + BLOCK) {
                if let Some(key) = event.key() {
                    newest.insert(hash(key), (event.offset() - begin) as u32);
                }
            }
            if page.next <= next {
                break;
            }
            next = page.next;
        }
        let mut work = self.bus.unit_of_work();
        work.write(DocumentWrite::put(COLLECTION, &self.key(0, begin, 0), joined(newest)));
        work.write(DocumentWrite::put(MARKS, &self.prefix(), (begin + BLOCK).to_string()));
        work.commit().await?;
        Ok(())
    }

    /// Out of the documents of its blocks; without one of them there is none.
    async fn fill_super(&self, begin: Offset) -> Result<(), JobError> {
        let mut shards: Vec<HashMap<u64, u32>> = vec![HashMap::new(); BLOCKS as usize];
        for block in 0..BLOCKS {
            let Some(stored) = self.bus.document(COLLECTION, &self.key(0, begin + block * BLOCK, 0)).await? else {
                return Ok(());
            };
            for entry in stored.value.as_chunks::<ENTRY>().0 {
                let (hash, at) = split(entry);
                shards[shard_of(hash) as usize].insert(hash, (block * BLOCK) as u32 + at);
            }
        }
        let mut work = self.bus.unit_of_work();
        for (shard, newest) in (0..).zip(shards) {
            work.write(DocumentWrite::put(COLLECTION, &self.key(1, begin, shard), joined(newest)));
        }
        work.commit().await?;
        Ok(())
    }

    /// Deletes some documents of blocks that retention removed, and those of topics of the same name before.
    async fn forget_before(&self, start: Offset) -> Result<(), JobError> {
        let mut work = self.bus.unit_of_work();
        let mut gone = 0;
        for level in [format!("{}/", self.topic), format!("{}0/", self.prefix()), format!("{}1/", self.prefix())] {
            for document in self.bus.documents(COLLECTION, Some(&level), FORGET).await? {
                if self.is_gone(&document.key, start) {
                    work.write(DocumentWrite::delete(COLLECTION, &document.key));
                    gone += 1;
                }
            }
        }
        if gone > 0 {
            work.commit().await?;
        }
        Ok(())
    }

    fn is_gone(&self, key: &str, start: Offset) -> bool {
        let parts: Vec<&str> = key.split('/').collect();
        let [topic, life, partition, level, begin, _] = parts[..] else { return false };
        if topic != self.topic.as_str() {
            return false;
        }
        let (Ok(life), Ok(begin)) = (u64::from_str_radix(life, 16), u64::from_str_radix(begin, 16)) else {
            return false;
        };
        let size = if level == "0" { BLOCK } else { SUPER };
        life < self.life || partition == format!("{:04x}", self.partition) && begin + size <= start
    }
}

fn hash(key: &str) -> u64 {
    // The standard library's hash has a fixed key here, so it is the same in every process.
    #[allow(deprecated, reason = "documents outlive the process, so the hash must not change with it")]
    let mut hasher = std::hash::SipHasher::new_with_keys(0x7072_6f6d, 0x6b65_7973);
    hasher.write(key.as_bytes());
    hasher.finish()
}

fn shard_of(hash: u64) -> u64 {
    hash >> 58
}

fn joined(newest: HashMap<u64, u32>) -> Vec<u8> {
    let mut entries: Vec<(u64, u32)> = newest.into_iter().collect();
    entries.sort_unstable();
    let mut bytes = Vec::with_capacity(entries.len() * ENTRY);
    for (hash, at) in entries {
        bytes.extend_from_slice(&hash.to_le_bytes());
        bytes.extend_from_slice(&at.to_le_bytes());
    }
    bytes
}

fn split(entry: &[u8; ENTRY]) -> (u64, u32) {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *entry;
    (u64::from_le_bytes([a, b, c, d, e, f, g, h]), u32::from_le_bytes([i, j, k, l]))
}
