//! The one encoding of an event: made when it is published, then only copied.
//!
//! ```text
//!    0  u32  length of everything after byte 8      32  16    id
//!    4  u32  CRC-32C of bytes 24…, then 8 to 24      48  u8    flags
//!    8  u64  offset       ┐ filled in by the        49  u8    zero
//!   16  i64  stored_ts    ┘ store at the append     50  u16   length of the key
//!   24  i64  ts                                     52  u32   length of the meta text
//!   56  key · meta (`"headers":{…},"tags":[…],`, may be empty) · payload (JSON text)
//! ```
//!
//! All numbers are little-endian. The checksum covers the stamp (offset and time) last, so the encoder does the long
//! part and the store only adds sixteen bytes. Meta and payload are the exact text that readers get: delivery writes a
//! short prefix and copies both. The fixed part holds what the hub itself needs.

use bytes::{BufMut, Bytes, BytesMut};
use prom_types::{EpochMs, Event, EventId, Invalid, Json, NewEvent, Offset};

use crate::LogName;

pub const HEADER_BYTES: usize = 56;
/// The part before the checksummed bytes: length and checksum.
pub const PREFIX_BYTES: usize = 8;
/// The part that the store fills in ends here.
const STAMP_END: usize = 24;

const FLAG_KEY: u8 = 1;
const FLAG_TOMBSTONE: u8 = 2;
const FLAG_EXACT: u8 = 4;

/// A buffer of an [`Encoder`] has at most this many bytes, unless one event needs more.
const PIECE_BYTES: usize = 32 << 10;

/// A record whose offset and time are not yet known.
#[derive(Debug, Clone)]
pub struct EncodedEvent(Bytes);

/// Encodes events one after the other into shared buffers: many events cost one allocation. A buffer lives as long as
/// one of its events.
#[derive(Debug, Default)]
pub struct Encoder {
    piece: BytesMut,
    /// The size of the last buffer.
    piece_bytes: usize,
}

/// A complete record as it is in memory and on disk.
#[derive(Clone, PartialEq, Eq)]
pub struct Record(Bytes);

/// The parts of a record, for a store that keeps the parts rather than the bytes.
#[derive(Debug, Clone, Copy)]
pub struct RecordParts<'a> {
    pub offset: Offset,
    pub stored_ts: EpochMs,
    pub ts: EpochMs,
    pub id: EventId,
    pub key: Option<&'a str>,
    /// In the form of [`Record::meta`].
    pub meta: &'a [u8],
    pub payload: &'a [u8],
    pub exact: bool,
}

/// Why bytes are not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordFault {
    #[error("the record is cut short")]
    Short,
    #[error("the record's length is impossible")]
    Length,
    #[error("the record's checksum does not match")]
    Checksum,
}

impl Encoder {
    /// Encodes an admitted event. Sizes were checked by [`NewEvent::check`].
    pub fn encode(&mut self, event: &NewEvent, id: EventId, ts: EpochMs) -> Result<EncodedEvent, Invalid> {
        let key = event.key.as_deref().unwrap_or_default();
        let payload = event.payload.as_bytes();
        self.make_room(HEADER_BYTES + key.len() + payload.len() + meta_estimate(event));
        let out = &mut self.piece;
        // Left behind by a refused event.
        out.clear();
        out.put_bytes(0, HEADER_BYTES);
        out.extend_from_slice(key.as_bytes());
        write_meta(event, out)?;
        let meta_len = out.len() - HEADER_BYTES - key.len();
        out.extend_from_slice(payload);

        let mut flags = 0;
        flags |= if event.key.is_some() { FLAG_KEY } else { 0 };
        flags |= if event.payload.is_null() { FLAG_TOMBSTONE } else { 0 };
        flags |= if event.exact { FLAG_EXACT } else { 0 };
        let body_len = u32::try_from(out.len() - PREFIX_BYTES).map_err(|_| too_large(out.len()))?;
        out[0..4].copy_from_slice(&body_len.to_le_bytes());
        out[24..32].copy_from_slice(&ts.to_le_bytes());
        out[32..48].copy_from_slice(id.as_bytes());
        out[48] = flags;
        out[50..52].copy_from_slice(&u16::try_from(key.len()).map_err(|_| too_large(key.len()))?.to_le_bytes());
        out[52..56].copy_from_slice(&u32::try_from(meta_len).map_err(|_| too_large(meta_len))?.to_le_bytes());
        let checksum = crc32c::crc32c(&out[STAMP_END..]);
        out[4..8].copy_from_slice(&checksum.to_le_bytes());
        Ok(EncodedEvent(out.split().freeze()))
    }

    /// Buffers grow from one to the next, so an encoder that encodes little takes little memory.
    fn make_room(&mut self, bytes: usize) {
        if self.piece.capacity() < bytes {
            self.piece_bytes = (self.piece_bytes * 2).min(PIECE_BYTES).max(bytes);
            self.piece = BytesMut::with_capacity(self.piece_bytes);
        }
    }
}

impl EncodedEvent {
    /// One event in its own buffer.
    pub fn encode(event: &NewEvent, id: EventId, ts: EpochMs) -> Result<Self, Invalid> {
        Encoder::default().encode(event, id, ts)
    }

    /// Appends the finished record to `out`, with offset, time and checksum.
    pub fn write_at(&self, offset: Offset, stored_ts: EpochMs, out: &mut Vec<u8>) {
        let at = out.len();
        out.extend_from_slice(&self.0);
        out[at + 8..at + 16].copy_from_slice(&offset.to_le_bytes());
        out[at + 16..at + 24].copy_from_slice(&stored_ts.to_le_bytes());
        let unstamped = u32::from_le_bytes(array(out, at + 4));
        let checksum = crc32c::crc32c_append(unstamped, &out[at + PREFIX_BYTES..at + STAMP_END]);
        out[at + 4..at + 8].copy_from_slice(&checksum.to_le_bytes());
    }

    pub fn id(&self) -> EventId {
        id_of(&self.0)
    }

    pub fn key(&self) -> Option<&str> {
        key_of(&self.0)
    }

    pub fn is_tombstone(&self) -> bool {
        self.0[48] & FLAG_TOMBSTONE != 0
    }

    /// The bytes it will take in a log.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        false
    }
}

impl RecordParts<'_> {
    /// Appends the record from which these parts were taken.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), Invalid> {
        let at = out.len();
        let key = self.key.unwrap_or_default();
        let length = HEADER_BYTES + key.len() + self.meta.len() + self.payload.len();
        let body_len = u32::try_from(length - PREFIX_BYTES).map_err(|_| too_large(length))?;
        let key_len = u16::try_from(key.len()).map_err(|_| too_large(key.len()))?;
        let mut flags = 0;
        flags |= if self.key.is_some() { FLAG_KEY } else { 0 };
        flags |= if self.payload == b"null" { FLAG_TOMBSTONE } else { 0 };
        flags |= if self.exact { FLAG_EXACT } else { 0 };
        out.reserve(length);
        out.extend_from_slice(&body_len.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.stored_ts.to_le_bytes());
        out.extend_from_slice(&self.ts.to_le_bytes());
        out.extend_from_slice(self.id.as_bytes());
        out.extend_from_slice(&[flags, 0]);
        out.extend_from_slice(&key_len.to_le_bytes());
        out.extend_from_slice(&(self.meta.len() as u32).to_le_bytes());
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(self.meta);
        out.extend_from_slice(self.payload);
        let unstamped = crc32c::crc32c(&out[at + STAMP_END..]);
        let checksum = crc32c::crc32c_append(unstamped, &out[at + PREFIX_BYTES..at + STAMP_END]);
        out[at + 4..at + 8].copy_from_slice(&checksum.to_le_bytes());
        Ok(())
    }
}

impl Record {
    /// The record at the beginning of `bytes`, checked.
    pub fn parse(bytes: &Bytes) -> Result<Self, RecordFault> {
        let length = frame_length(bytes)?;
        let record = bytes.slice(..length);
        if is_sound(&record) { Ok(Self(record)) } else { Err(RecordFault::Checksum) }
    }

    /// The record at the beginning of bytes whose checksum is known to be right.
    pub fn trusted(bytes: &Bytes) -> Result<Self, RecordFault> {
        let length = frame_length(bytes)?;
        Ok(Self(bytes.slice(..length)))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        false
    }

    pub fn offset(&self) -> Offset {
        u64::from_le_bytes(array(&self.0, 8))
    }

    pub fn stored_ts(&self) -> EpochMs {
        i64::from_le_bytes(array(&self.0, 16))
    }

    pub fn ts(&self) -> EpochMs {
        i64::from_le_bytes(array(&self.0, 24))
    }

    pub fn id(&self) -> EventId {
        id_of(&self.0)
    }

    pub fn key(&self) -> Option<&str> {
        key_of(&self.0)
    }

    pub fn is_tombstone(&self) -> bool {
        self.0[48] & FLAG_TOMBSTONE != 0
    }

    /// Whether its id was published as unique while retained.
    pub fn is_exact(&self) -> bool {
        self.0[48] & FLAG_EXACT != 0
    }

    pub fn payload(&self) -> Json {
        Json::trusted(self.0.slice(HEADER_BYTES + self.key_len() + self.meta_len()..))
    }

    /// `"headers":{…},` and the like: JSON members, each followed by a comma.
    pub fn meta(&self) -> &[u8] {
        let from = HEADER_BYTES + self.key_len();
        &self.0[from..from + self.meta_len()]
    }

    /// Appends the event as JSON, in the form that every reader gets.
    pub fn write_json(&self, log: &LogName, out: &mut Vec<u8>) {
        let mut number = itoa::Buffer::new();
        out.reserve(self.0.len() + log.topic.len() + 192);
        out.extend_from_slice(b"{\"id\":\"");
        self.id().write_to(out);
        out.extend_from_slice(b"\",\"ts\":");
        out.extend_from_slice(number.format(self.ts()).as_bytes());
        out.extend_from_slice(b",\"stored_ts\":");
        out.extend_from_slice(number.format(self.stored_ts()).as_bytes());
        out.extend_from_slice(b",\"topic\":\"");
        out.extend_from_slice(log.topic.as_bytes());
        out.extend_from_slice(b"\",\"partition\":");
        out.extend_from_slice(number.format(log.partition).as_bytes());
        out.extend_from_slice(b",\"offset\":");
        out.extend_from_slice(number.format(self.offset()).as_bytes());
        out.push(b',');
        if let Some(key) = self.key() {
            out.extend_from_slice(b"\"key\":");
            write_json_string(key, out);
            out.push(b',');
        }
        out.extend_from_slice(self.meta());
        out.extend_from_slice(b"\"payload\":");
        out.extend_from_slice(&self.0[HEADER_BYTES + self.key_len() + self.meta_len()..]);
        out.push(b'}');
    }

    /// The whole event, owned; parses the text.
    pub fn to_event(&self, log: &LogName) -> Result<Event, serde_json::Error> {
        let mut json = Vec::new();
        self.write_json(log, &mut json);
        serde_json::from_slice(&json)
    }

    fn key_len(&self) -> usize {
        usize::from(u16::from_le_bytes(array(&self.0, 50)))
    }

    fn meta_len(&self) -> usize {
        u32::from_le_bytes(array(&self.0, 52)) as usize
    }
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Record({} {})", self.offset(), self.id())
    }
}

/// The length of the record that begins `bytes`, if its parts fit.
pub fn frame_length(bytes: &[u8]) -> Result<usize, RecordFault> {
    if bytes.len() < HEADER_BYTES {
        return Err(RecordFault::Short);
    }
    let length = u32::from_le_bytes(array(bytes, 0)) as usize + PREFIX_BYTES;
    let parts = usize::from(u16::from_le_bytes(array(bytes, 50))) + u32::from_le_bytes(array(bytes, 52)) as usize;
    if length < HEADER_BYTES + parts {
        return Err(RecordFault::Length);
    }
    if length <= bytes.len() { Ok(length) } else { Err(RecordFault::Short) }
}

/// Whether a complete record matches its checksum.
pub fn is_sound(record: &[u8]) -> bool {
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&record[STAMP_END..]), &record[PREFIX_BYTES..STAMP_END]);
    checksum == u32::from_le_bytes(array(record, 4))
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

fn id_of(record: &[u8]) -> EventId {
    EventId::from_bytes(array(record, 32))
}

fn key_of(record: &[u8]) -> Option<&str> {
    if record[48] & FLAG_KEY == 0 {
        return None;
    }
    let length = usize::from(u16::from_le_bytes(array(record, 50)));
    std::str::from_utf8(&record[HEADER_BYTES..HEADER_BYTES + length]).ok()
}

fn meta_estimate(event: &NewEvent) -> usize {
    if event.headers.is_empty() && event.tags.is_empty() && event.caused_by.is_empty() && event.sid.is_none() {
        0
    } else {
        256
    }
}

fn write_meta(event: &NewEvent, out: &mut BytesMut) -> Result<(), Invalid> {
    if let Some(sid) = &event.sid {
        write_member("sid", sid, out)?;
    }
    if !event.headers.is_empty() {
        write_member("headers", &event.headers, out)?;
    }
    if !event.caused_by.is_empty() {
        write_member("caused_by", &event.caused_by, out)?;
    }
    if !event.tags.is_empty() {
        write_member("tags", &event.tags, out)?;
    }
    Ok(())
}

fn write_member(name: &'static str, value: &impl serde::Serialize, out: &mut BytesMut) -> Result<(), Invalid> {
    out.put_u8(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    serde_json::to_writer((&mut *out).writer(), value)
        .map_err(|error| Invalid::Json { what: name, reason: error.to_string() })?;
    out.put_u8(b',');
    Ok(())
}

/// `text` as a JSON string.
pub fn write_json_string(text: &str, out: &mut Vec<u8>) {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(plain) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else if serde_json::to_writer(&mut *out, text).is_err() {
        // Writing a string into memory cannot fail.
        out.extend_from_slice(b"null");
    }
}

fn too_large(size: usize) -> Invalid {
    Invalid::TooLarge { what: "event", size, limit: u32::MAX as usize }
}
