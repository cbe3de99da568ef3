//! What a frame's body is made of: entries, each a durable change that may be applied twice.

use std::ops::Range;

use prom_store::{CursorName, Failures, LogName, LogOptions};
use prom_types::{GroupName, Offset, TopicName};

use crate::codec::{Malformed, Put, Take};

const LOG: u8 = 1;
const CURSOR: u8 = 3;
const DOCUMENT: u8 = 4;
const TRIM: u8 = 5;
const END: u8 = 6;
const SKIP: u8 = 7;

/// What a log keeps, as bits.
const COMPACTED: u8 = 1;
const VERSIONS: u8 = 2;

const CREATED: u8 = 1;
const SETTLED: u8 = 2;
const RESET: u8 = 3;
const DELETED: u8 = 4;
const TAKEN: u8 = 5;

/// One entry.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Gives a log its number, or changes its options. One that has ended begins anew.
    Log {
        id: u32,
        name: LogName,
        options: LogOptions,
    },
    Cursor {
        name: CursorName,
        step: CursorStep,
    },
    /// `revision` is the one after the write.
    Document {
        collection: String,
        key: String,
        revision: u64,
        value: Option<Vec<u8>>,
    },
    Trim {
        log: u32,
        start: Offset,
    },
    /// The log ends; what it holds from `at` on came after it began anew in the same frame.
    End {
        log: u32,
        at: Offset,
    },
    /// The offsets before `to` stay empty. The events of the frame come behind it.
    Skip {
        log: u32,
        to: Offset,
    },
}

/// A cursor change as it is written down: what it leads to, not what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CursorStep {
    Created {
        epoch: u64,
        floor: Offset,
    },
    Settled {
        epoch: u64,
        settled: Vec<Range<Offset>>,
        failures: Vec<(Offset, Failures)>,
    },
    Reset {
        epoch: u64,
        floor: Offset,
    },
    /// Cursors made from now on begin at `first_epoch`, so that no old holder reaches a new cursor.
    Deleted {
        first_epoch: u64,
    },
    /// A takeover; it makes the cursor where there was none.
    Taken {
        epoch: u64,
        floor_if_new: Offset,
    },
}

pub(crate) fn put_log(out: &mut Vec<u8>, id: u32, name: &LogName, options: LogOptions) {
    out.put_u8(LOG);
    out.put_u32(id);
    put_log_name(out, name);
    out.put_u8(options_bits(options));
}

/// As the journal and the manifest have them. Before there was more than compaction this was 0 or 1.
pub(crate) fn options_bits(options: LogOptions) -> u8 {
    (u8::from(options.compacted) * COMPACTED) | (u8::from(options.versions) * VERSIONS)
}

pub(crate) fn options_of(bits: u8) -> LogOptions {
    LogOptions { compacted: bits & COMPACTED != 0, versions: bits & VERSIONS != 0 }
}

pub(crate) fn put_skip(out: &mut Vec<u8>, log: u32, to: Offset) {
    out.put_u8(SKIP);
    out.put_u32(log);
    out.put_u64(to);
}

pub(crate) fn put_trim(out: &mut Vec<u8>, log: u32, start: Offset) {
    out.put_u8(TRIM);
    out.put_u32(log);
    out.put_u64(start);
}

pub(crate) fn put_end(out: &mut Vec<u8>, log: u32, at: Offset) {
    out.put_u8(END);
    out.put_u32(log);
    out.put_u64(at);
}

pub(crate) fn put_document(out: &mut Vec<u8>, collection: &str, key: &str, revision: u64, value: Option<&[u8]>) {
    out.put_u8(DOCUMENT);
    out.put_bytes(collection.as_bytes());
    out.put_bytes(key.as_bytes());
    out.put_u64(revision);
    out.put_u8(u8::from(value.is_some()));
    out.put_bytes(value.unwrap_or_default());
}

pub(crate) fn put_cursor(out: &mut Vec<u8>, name: &CursorName, step: &CursorStep) {
    out.put_u8(CURSOR);
    put_cursor_name(out, name);
    match step {
        CursorStep::Created { epoch, floor } => put_pair(out, CREATED, *epoch, *floor),
        CursorStep::Reset { epoch, floor } => put_pair(out, RESET, *epoch, *floor),
        CursorStep::Deleted { first_epoch } => put_pair(out, DELETED, *first_epoch, 0),
        CursorStep::Taken { epoch, floor_if_new } => put_pair(out, TAKEN, *epoch, *floor_if_new),
        CursorStep::Settled { epoch, settled, failures } => {
            put_pair(out, SETTLED, *epoch, settled.len() as u64);
            for range in settled {
                out.put_u64(range.start);
                out.put_u64(range.end);
            }
            put_failures(out, failures.iter().map(|(offset, failure)| (*offset, failure)), failures.len());
        }
    }
}

fn put_pair(out: &mut Vec<u8>, kind: u8, first: u64, second: u64) {
    out.put_u8(kind);
    out.put_u64(first);
    out.put_u64(second);
}

pub(crate) fn put_failures<'a>(
    out: &mut Vec<u8>,
    failures: impl Iterator<Item = (Offset, &'a Failures)>,
    count: usize,
) {
    out.put_u32(count as u32);
    for (offset, failure) in failures {
        out.put_u64(offset);
        out.put_u32(failure.attempts);
        out.put_u32(failure.returns);
        out.put_u8(u8::from(failure.reason.is_some()));
        out.put_bytes(failure.reason.as_deref().unwrap_or_default().as_bytes());
    }
}

pub(crate) fn take_failures(take: &mut Take<'_>) -> Result<Vec<(Offset, Failures)>, Malformed> {
    let count = take.u32()? as usize;
    let mut failures = Vec::with_capacity(count.min(take.remaining()));
    for _ in 0..count {
        let offset = take.u64()?;
        let (attempts, returns) = (take.u32()?, take.u32()?);
        let has_reason = take.u8()? != 0;
        let reason = take.text()?.to_owned();
        failures.push((offset, Failures { attempts, returns, reason: has_reason.then_some(reason) }));
    }
    Ok(failures)
}

pub(crate) fn put_log_name(out: &mut Vec<u8>, name: &LogName) {
    out.put_u32(name.partition);
    out.put_bytes(name.topic.as_bytes());
}

pub(crate) fn take_log_name(take: &mut Take<'_>) -> Result<LogName, Malformed> {
    let partition = take.u32()?;
    let topic = TopicName::parse(take.text()?).map_err(|_| Malformed)?;
    Ok(LogName { topic, partition })
}

fn put_cursor_name(out: &mut Vec<u8>, name: &CursorName) {
    put_log_name(out, &name.log);
    out.put_bytes(name.group.as_bytes());
}

fn take_cursor_name(take: &mut Take<'_>) -> Result<CursorName, Malformed> {
    let log = take_log_name(take)?;
    let group = GroupName::parse(take.text()?).map_err(|_| Malformed)?;
    Ok(CursorName { log, group })
}

/// All entries of a body.
pub(crate) fn entries(body: &[u8]) -> Result<Vec<Entry>, Malformed> {
    let mut take = Take::new(body);
    let mut entries = Vec::new();
    while !take.is_empty() {
        entries.push(entry(&mut take)?);
    }
    Ok(entries)
}

fn entry(take: &mut Take<'_>) -> Result<Entry, Malformed> {
    Ok(match take.u8()? {
        LOG => Entry::Log { id: take.u32()?, name: take_log_name(take)?, options: options_of(take.u8()?) },
        CURSOR => Entry::Cursor { name: take_cursor_name(take)?, step: cursor_step(take)? },
        DOCUMENT => {
            let (collection, key) = (take.text()?.to_owned(), take.text()?.to_owned());
            let revision = take.u64()?;
            let present = take.u8()? != 0;
            let value = take.bytes()?.to_vec();
            Entry::Document { collection, key, revision, value: present.then_some(value) }
        }
        TRIM => Entry::Trim { log: take.u32()?, start: take.u64()? },
        END => Entry::End { log: take.u32()?, at: take.u64()? },
        SKIP => Entry::Skip { log: take.u32()?, to: take.u64()? },
        _ => return Err(Malformed),
    })
}

fn cursor_step(take: &mut Take<'_>) -> Result<CursorStep, Malformed> {
    let (kind, first, second) = (take.u8()?, take.u64()?, take.u64()?);
    Ok(match kind {
        CREATED => CursorStep::Created { epoch: first, floor: second },
        RESET => CursorStep::Reset { epoch: first, floor: second },
        DELETED => CursorStep::Deleted { first_epoch: first },
        TAKEN => CursorStep::Taken { epoch: first, floor_if_new: second },
        SETTLED => {
            let count = usize::try_from(second).map_err(|_| Malformed)?;
            let mut settled = Vec::with_capacity(count.min(take.remaining()));
            for _ in 0..count {
                settled.push(take.u64()?..take.u64()?);
            }
            CursorStep::Settled { epoch: first, settled, failures: take_failures(take)? }
        }
        _ => return Err(Malformed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_back_as_written_and_never_half() {
        let log = LogName::new(TopicName::parse("a.b").unwrap(), 3);
        let cursor = CursorName::new(log.clone(), GroupName::parse("g").unwrap());
        let failure = Failures { attempts: 2, returns: 1, reason: Some("no".into()) };
        let settle = CursorStep::Settled { epoch: 4, settled: vec![1..3, 9..10], failures: vec![(5, failure)] };
        let mut body = Vec::new();
        let options = LogOptions { compacted: true, versions: false };
        put_log(&mut body, 7, &log, options);
        put_cursor(&mut body, &cursor, &settle);
        put_cursor(&mut body, &cursor, &CursorStep::Reset { epoch: 5, floor: 2 });
        put_document(&mut body, "topics", "k", 2, Some(b"{}"));
        put_document(&mut body, "topics", "gone", 3, None);
        put_trim(&mut body, 7, 12);
        put_end(&mut body, 7, 14);
        put_skip(&mut body, 7, 99);
        let read = entries(&body).unwrap();
        assert_eq!(read.len(), 8);
        assert_eq!(read[0], Entry::Log { id: 7, name: log, options });
        assert_eq!(read[7], Entry::Skip { log: 7, to: 99 });
        assert_eq!(read[1], Entry::Cursor { name: cursor, step: settle });
        assert!(matches!(&read[4], Entry::Document { value: None, revision: 3, .. }));
        assert_eq!(read[6], Entry::End { log: 7, at: 14 });
        let whole = |cut: usize| entries(&body[..cut]).map(|read| read.len());
        assert!((0..body.len()).all(|cut| whole(cut) != Ok(8)));
    }
}
