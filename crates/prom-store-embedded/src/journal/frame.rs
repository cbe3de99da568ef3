//! A frame: the unit that is written, synced and recovered as one.
//!
//! ```text
//!    0 u32 magic   4 u32 checksum   8 u64 number   16 u32 length of the body   20 u32 length of the entries
//!   24 entries · sections, each: u32 log, u32 number of records, u32 their length, the records
//! ```
//!
//! Records have checksums of their own, so the frame's covers only their lengths and checksums: a frame
//! is sound if its own checksum is right and every record's is. Frames begin at multiples of eight bytes.

use std::ops::Range;

use prom_store::record::{self, PREFIX_BYTES};

use crate::codec::{Malformed, Put, Take};

const MAGIC: u32 = 0x4d52_464a;
pub(crate) const HEADER_BYTES: usize = 24;
const NUMBER: Range<usize> = 8..16;
const SECTION_BYTES: usize = 12;
pub(crate) const ALIGN: usize = 8;

/// The records of one log in a frame, back to back.
pub(crate) struct FrameSection<'a> {
    pub(crate) log: u32,
    pub(crate) count: usize,
    pub(crate) records: &'a [u8],
}

/// A frame about to be written: `head` is the header and the entries.
pub(crate) struct FrameDraft<'a> {
    pub(crate) head: &'a mut Vec<u8>,
    pub(crate) sections: Vec<FrameSection<'a>>,
}

/// Reserves the header; the entries are appended behind it.
pub(crate) fn begin(head: &mut Vec<u8>) {
    head.clear();
    head.resize(HEADER_BYTES, 0);
}

impl FrameDraft<'_> {
    /// Bytes it takes in the journal, with the last few up to the alignment.
    pub(crate) fn len(&self) -> usize {
        let sections = self.sections.iter().map(|section| SECTION_BYTES + section.records.len()).sum::<usize>();
        (self.head.len() + sections).next_multiple_of(ALIGN)
    }

    /// Appends the frame under this number, up to its alignment.
    pub(crate) fn put(&mut self, number: u64, out: &mut Vec<u8>) {
        self.fill_header(number);
        let end = out.len() + self.len();
        out.extend_from_slice(self.head);
        for section in &self.sections {
            put_section_header(out, section);
            out.extend_from_slice(section.records);
        }
        out.resize(end, 0);
    }

    fn fill_header(&mut self, number: u64) {
        let entries = self.head.len() - HEADER_BYTES;
        let body = entries + self.sections.iter().map(|section| SECTION_BYTES + section.records.len()).sum::<usize>();
        self.head[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        self.head[8..16].copy_from_slice(&number.to_le_bytes());
        self.head[16..20].copy_from_slice(&(body as u32).to_le_bytes());
        self.head[20..24].copy_from_slice(&(entries as u32).to_le_bytes());
        let mut checksum = crc32c::crc32c(&self.head[8..]);
        let mut header = Vec::with_capacity(SECTION_BYTES);
        for section in &self.sections {
            header.clear();
            put_section_header(&mut header, section);
            checksum = crc32c::crc32c_append(checksum, &header);
            checksum = prefixes(checksum, section.records).unwrap_or(checksum);
        }
        self.head[4..8].copy_from_slice(&checksum.to_le_bytes());
    }
}

fn put_section_header(out: &mut Vec<u8>, section: &FrameSection<'_>) {
    out.put_u32(section.log);
    out.put_u32(section.count as u32);
    out.put_u32(section.records.len() as u32);
}

/// Adds length and checksum of each record to a checksum.
fn prefixes(mut checksum: u32, records: &[u8]) -> Option<u32> {
    let mut at = 0;
    while at < records.len() {
        let length = record::frame_length(&records[at..]).ok()?;
        checksum = crc32c::crc32c_append(checksum, &records[at..at + PREFIX_BYTES]);
        at += length;
    }
    Some(checksum)
}

/// A frame that checked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) number: u64,
    /// Length of the body, which follows the header.
    pub(crate) body: usize,
    /// Length of the entries, with which the body begins.
    pub(crate) entries: usize,
    /// From this frame's beginning to where the next one begins.
    pub(crate) stride: usize,
}

/// The number of what claims to be a frame, unchecked.
pub(crate) fn number(bytes: &[u8]) -> Option<u64> {
    let mut take = Take::new(bytes);
    (take.u32().ok()? == MAGIC).then_some(())?;
    take.slice(4).ok()?;
    take.u64().ok()
}

/// Whether `bytes` begin with what is left of a frame of this number: either its number or all but its number is there.
pub(crate) fn is_remainder(bytes: &[u8], number: u64) -> bool {
    let stated = bytes.get(NUMBER).and_then(|stated| stated.try_into().ok()).map(u64::from_le_bytes);
    let length = || Some(u32::from_le_bytes(bytes.get(16..20)?.try_into().ok()?) as usize);
    let with_number = || {
        let mut whole = bytes.get(..HEADER_BYTES.checked_add(length()?)?)?.to_vec();
        whole[NUMBER].copy_from_slice(&number.to_le_bytes());
        check(&whole)
    };
    stated == Some(number) || self::number(bytes).is_some() && with_number().is_some()
}

/// The frame at the beginning of `bytes`, if there is a whole and sound one.
pub(crate) fn check(bytes: &[u8]) -> Option<Frame> {
    let mut take = Take::new(bytes);
    (take.u32().ok()? == MAGIC).then_some(())?;
    let checksum = take.u32().ok()?;
    let number = take.u64().ok()?;
    let (body, entries) = (take.u32().ok()? as usize, take.u32().ok()? as usize);
    let whole = bytes.get(..HEADER_BYTES.checked_add(body)?)?;
    let mut found = crc32c::crc32c(whole.get(8..HEADER_BYTES.checked_add(entries)?)?);
    for section in sections(&whole[HEADER_BYTES..], entries).ok()? {
        let records = &whole[HEADER_BYTES..][section.records.clone()];
        let header = section.records.start + HEADER_BYTES - SECTION_BYTES;
        found = crc32c::crc32c_append(found, &whole[header..header + SECTION_BYTES]);
        found = prefixes(found, records)?;
    }
    let stride = (HEADER_BYTES + body).next_multiple_of(ALIGN);
    let frame = Frame { number, body, entries, stride };
    (found == checksum && records_are_sound(&whole[HEADER_BYTES..], entries)).then_some(frame)
}

/// Where a section's records lie in the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundSection {
    pub(crate) log: u32,
    pub(crate) count: u32,
    pub(crate) records: Range<usize>,
}

/// The sections of a body, which follow its entries.
pub(crate) fn sections(body: &[u8], entries: usize) -> Result<Vec<FoundSection>, Malformed> {
    let mut take = Take::new(body);
    take.slice(entries)?;
    let mut found = Vec::new();
    while !take.is_empty() {
        let (log, count) = (take.u32()?, take.u32()?);
        let length = take.u32()? as usize;
        found.push(FoundSection { log, count, records: take.range(length)? });
    }
    Ok(found)
}

fn records_are_sound(body: &[u8], entries: usize) -> bool {
    let sound = |section: FoundSection| {
        let mut rest = &body[section.records];
        while !rest.is_empty() {
            match record::frame_length(rest) {
                Ok(length) if record::is_sound(&rest[..length]) => rest = &rest[length..],
                _ => return false,
            }
        }
        true
    };
    sections(body, entries).is_ok_and(|found| found.into_iter().all(sound))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prom_store::EncodedEvent;
    use prom_types::{EventId, NewEvent, TopicName};

    fn written(number: u64) -> Vec<u8> {
        let event = NewEvent::new(TopicName::parse("a").unwrap(), serde_json::json!({"n": 1}));
        let event = EncodedEvent::encode(&event, EventId::derived("x"), 7).unwrap();
        let (mut head, mut records) = (Vec::new(), Vec::new());
        begin(&mut head);
        head.extend_from_slice(b"some entries");
        event.write_at(3, 8, &mut records);
        event.write_at(4, 8, &mut records);
        let section = FrameSection { log: 5, count: 2, records: &records };
        let mut draft = FrameDraft { head: &mut head, sections: vec![section] };
        let mut bytes = Vec::new();
        draft.put(number, &mut bytes);
        assert_eq!(bytes.len(), draft.len());
        bytes
    }

    #[test]
    fn a_frame_is_read_back_as_written() {
        let bytes = written(7);
        let frame = check(&bytes).unwrap();
        assert_eq!((frame.number, frame.entries), (7, 12));
        let body = &bytes[HEADER_BYTES..HEADER_BYTES + frame.body];
        let found = sections(body, frame.entries).unwrap();
        assert_eq!((found[0].log, found[0].count), (5, 2));
        assert_eq!(frame.stride, bytes.len().next_multiple_of(ALIGN));
    }

    #[test]
    fn a_frame_cut_or_flipped_anywhere_is_refused() {
        let bytes = written(7);
        let whole = HEADER_BYTES + check(&bytes).unwrap().body;
        for cut in 0..whole {
            assert_eq!(check(&bytes[..cut]), None, "cut at {cut}");
        }
        for bit in 0..whole * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(check(&flipped).is_none(), "bit {bit}");
        }
    }
}
