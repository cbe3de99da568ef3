//! One committed batch of one log as a document.
//!
//! ```text
//!   _id:       { topic, partition, base }     orders all batches of all logs; the only unique key of a batch
//!   topic, partition                          repeated, for queries by people and for sharding
//!   next       the offset after the last event; always the base of the following batch
//!   count, bytes, total                       events, bytes of their records, bytes of the log up to here
//!   stored_ts, last_ts                        of the first and the last event
//!   at         the server's time of the insert, filled in by the server
//!   by, attempt                               the hub that wrote it, and the number of its attempt
//!   end?       true: the log ended before it; it has no events, and fences hubs that do not know it yet
//!   exact?     ids that are unique for as long as they are retained
//!   events     [ … ]
//! ```

use bytes::Bytes;
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{RawDocument, RawDocumentBuf, Timestamp};
use prom_store::{LogName, Record, StoredAt};
use prom_types::{EpochMs, EventId, Offset};

use super::element::{self, ARRAY, DOCUMENT, OBJECT_ID, TIMESTAMP, number};
use super::event::{BsonForm, Scratch, append_event, read_event, read_id};
use super::to_json::NotJson;
use crate::limits::BATCH_DOCUMENT_BYTES;

/// Everything about a batch except its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHead {
    pub base: Offset,
    pub next: Offset,
    pub count: u64,
    pub bytes: u64,
    pub total: u64,
    pub stored_ts: EpochMs,
    pub last_ts: EpochMs,
    /// Seconds by the server's clock.
    pub at: u32,
    pub by: ObjectId,
    pub attempt: i64,
    /// The log ended with it.
    pub end: bool,
}

/// A batch with its events.
#[derive(Debug, Clone)]
pub struct StoredBatch {
    pub head: BatchHead,
    pub records: Vec<Record>,
    /// Tombstones that compaction has met, and when.
    pub cleaned: Vec<(Offset, EpochMs)>,
}

/// A batch to be written.
#[derive(Debug, Clone, Copy)]
pub struct BatchPlan<'a> {
    pub log: &'a LogName,
    pub base: Offset,
    pub next: Offset,
    pub records: &'a [Record],
    pub cleaned: &'a [(Offset, EpochMs)],
    /// For a batch without events: the time of its last event before compaction.
    pub last_ts: EpochMs,
    /// Bytes of the log up to its end.
    pub total: u64,
    /// Exact ids of events before this offset may be used again.
    pub start: Offset,
    pub by: ObjectId,
    pub attempt: i64,
    /// `None` lets the server fill in its time.
    pub at: Option<u32>,
    /// The log ends with it.
    pub end: bool,
}

impl BatchPlan<'_> {
    pub fn head(&self) -> BatchHead {
        BatchHead {
            base: self.base,
            next: self.next,
            count: self.records.len() as u64,
            bytes: self.bytes(),
            total: self.total,
            stored_ts: self.records.first().map_or(self.last_ts, Record::stored_ts),
            last_ts: self.records.last().map_or(self.last_ts, Record::stored_ts),
            at: self.at.unwrap_or(0),
            by: self.by,
            attempt: self.attempt,
            end: self.end,
        }
    }

    fn bytes(&self) -> u64 {
        self.records.iter().map(|record| record.len() as u64).sum()
    }

    /// Fits into the server's largest document if the records fit into a batch.
    pub fn document(&self) -> Result<RawDocumentBuf, NotJson> {
        let document = self.document_of(BsonForm::Queryable)?;
        if document.as_bytes().len() <= BATCH_DOCUMENT_BYTES {
            return Ok(document);
        }
        self.document_of(BsonForm::Small)
    }

    fn document_of(&self, form: BsonForm) -> Result<RawDocumentBuf, NotJson> {
        let head = self.head();
        let mut out = Vec::with_capacity(head.bytes as usize * 5 / 4 + 512);
        let document = element::open(&mut out);
        self.append_key(&mut out);
        element::string(&mut out, "topic", self.log.topic.as_str());
        element::int32(&mut out, "partition", self.log.partition as i32);
        element::int64(&mut out, "next", self.next as i64);
        element::int32(&mut out, "count", self.records.len() as i32);
        element::int64(&mut out, "bytes", head.bytes as i64);
        element::int64(&mut out, "total", self.total as i64);
        element::int64(&mut out, "stored_ts", head.stored_ts);
        element::int64(&mut out, "last_ts", head.last_ts);
        element::begin(&mut out, TIMESTAMP, "at");
        out.extend_from_slice(&(u64::from(self.at.unwrap_or(0)) << 32).to_le_bytes());
        element::begin(&mut out, OBJECT_ID, "by");
        out.extend_from_slice(&self.by.bytes());
        element::int64(&mut out, "attempt", self.attempt);
        if self.end {
            element::boolean(&mut out, "end", true);
        }
        self.append_exact(&mut out);
        self.append_events(&mut out, head.stored_ts, form);
        element::close(&mut out, document);
        RawDocumentBuf::from_bytes(out).map_err(|_| NotJson)
    }

    fn append_key(&self, out: &mut Vec<u8>) {
        element::begin(out, DOCUMENT, "_id");
        let key = element::open(out);
        element::string(out, "topic", self.log.topic.as_str());
        element::int32(out, "partition", self.log.partition as i32);
        element::int64(out, "base", self.base as i64);
        element::close(out, key);
    }

    fn append_exact(&self, out: &mut Vec<u8>) {
        let exact = self.records.iter().filter(|record| record.is_exact() && record.offset() >= self.start);
        let mut exact = exact.peekable();
        if exact.peek().is_none() {
            return;
        }
        element::begin(out, ARRAY, "exact");
        let array = element::open(out);
        for (index, record) in exact.enumerate() {
            element::uuid(out, itoa::Buffer::new().format(index), record.id());
        }
        element::close(out, array);
    }

    fn append_events(&self, out: &mut Vec<u8>, stored_ts: EpochMs, form: BsonForm) {
        element::begin(out, ARRAY, "events");
        let array = element::open(out);
        let mut cleaned = self.cleaned.iter().peekable();
        for (index, record) in self.records.iter().enumerate() {
            while cleaned.peek().is_some_and(|(offset, _)| *offset < record.offset()) {
                cleaned.next();
            }
            let cleaned_at = cleaned.peek().filter(|(offset, _)| *offset == record.offset()).map(|(_, at)| *at);
            element::begin(out, DOCUMENT, itoa::Buffer::new().format(index));
            let event = element::open(out);
            let usual = StoredAt { offset: self.base + index as u64, stored_ts };
            append_event(out, record, Some(usual), cleaned_at, form);
            element::close(out, event);
        }
        element::close(out, array);
    }
}

impl BatchHead {
    pub fn read(document: &RawDocument) -> Result<Self, NotJson> {
        let whole = |name| number(document, name).ok_or(NotJson);
        let base = StoredBatch::base_of(document).ok_or(NotJson)?;
        let at = document.get("at")?.and_then(|at| at.as_timestamp()).unwrap_or(Timestamp { time: 0, increment: 0 });
        Ok(Self {
            base,
            next: whole("next")? as Offset,
            count: whole("count")? as u64,
            bytes: whole("bytes")? as u64,
            total: whole("total")? as u64,
            stored_ts: whole("stored_ts")?,
            last_ts: whole("last_ts")?,
            at: at.time,
            by: document.get("by")?.and_then(|by| by.as_object_id()).ok_or(NotJson)?,
            attempt: whole("attempt")?,
            end: document.get("end")?.and_then(|end| end.as_bool()).unwrap_or(false),
        })
    }

    /// Where the bytes of this batch begin, counted from the start of the log.
    pub fn total_before(&self) -> u64 {
        self.total.saturating_sub(self.bytes)
    }
}

impl StoredBatch {
    pub fn read(document: &RawDocument) -> Result<Self, NotJson> {
        let head = BatchHead::read(document)?;
        let events = document.get_array("events").map_err(|_| NotJson)?;
        let mut bytes = Vec::with_capacity(head.bytes as usize);
        let mut scratch = Scratch::default();
        let mut ends = Vec::with_capacity(head.count as usize);
        let mut cleaned_by_index = Vec::new();
        for (index, event) in events.into_iter().enumerate() {
            let event = event?.as_document().ok_or(NotJson)?;
            let usual = StoredAt { offset: head.base + index as u64, stored_ts: head.stored_ts };
            if let Some(at) = read_event(event, usual, &mut scratch, &mut bytes)? {
                cleaned_by_index.push((index, at));
            }
            ends.push(bytes.len());
        }
        let records = cut(bytes.into(), &ends)?;
        let cleaned = cleaned_by_index.into_iter().map(|(index, at)| (records[index].offset(), at)).collect();
        Ok(Self { head, records, cleaned })
    }

    /// An event stored as its own document.
    pub fn read_single(event: &RawDocument) -> Option<Record> {
        let mut bytes = Vec::new();
        let usual = StoredAt { offset: 0, stored_ts: 0 };
        read_event(event, usual, &mut Scratch::default(), &mut bytes).ok()?;
        Record::trusted(&bytes.into()).ok()
    }

    pub fn partition_of(document: &RawDocument) -> Option<u32> {
        u32::try_from(number(document.get_document("_id").ok()?, "partition")?).ok()
    }

    pub fn base_of(document: &RawDocument) -> Option<Offset> {
        Some(number(document.get_document("_id").ok()?, "base")? as Offset)
    }

    /// The ids of a batch that was read without the rest of its events.
    pub fn read_ids(document: &RawDocument) -> Result<Vec<(EventId, StoredAt)>, NotJson> {
        let base = Self::base_of(document).ok_or(NotJson)?;
        let stored_ts = number(document, "stored_ts").ok_or(NotJson)?;
        let events = document.get_array("events").map_err(|_| NotJson)?;
        let mut ids = Vec::new();
        for (index, event) in events.into_iter().enumerate() {
            let event = event?.as_document().ok_or(NotJson)?;
            let usual = StoredAt { offset: base + index as u64, stored_ts };
            ids.push(read_id(event, usual).ok_or(NotJson)?);
        }
        Ok(ids)
    }
}

/// Records that share one buffer.
fn cut(bytes: Bytes, ends: &[usize]) -> Result<Vec<Record>, NotJson> {
    let mut records = Vec::with_capacity(ends.len());
    let mut at = 0;
    for &end in ends {
        records.push(Record::trusted(&bytes.slice(at..end)).map_err(|_| NotJson)?);
        at = end;
    }
    Ok(records)
}
