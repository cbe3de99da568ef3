//! The failures of a cursor: offsets with the same counts share one entry, so that a mass of events given back at once
//! takes little room.
//!
//! ```text
//!   [{ attempts, returns, reason, offsets: [[from, to]…] }…]
//! ```
//!
//! Promise: the room is bounded, since each settlement writes the cursor whole and a document has an upper size. Reasons
//! go first, then the counts of the highest offsets. The hub that counted them still has both in memory.

use std::collections::BTreeMap;
use std::ops::Range;

use hashbrown::HashMap;
use mongodb::bson::{Bson, Document, RawArray, RawBsonRef, doc};
use prom_store::{CursorName, Failures};
use prom_types::Offset;

use crate::limits::{FAILURES_BYTES, REASONS_BYTES};

/// About what one entry and one range take as BSON.
const ENTRY_BYTES: usize = 80;
const RANGE_BYTES: usize = 40;

type Counts<'a> = (u32, u32, Option<&'a str>);

pub fn write_failures(name: &CursorName, failures: &BTreeMap<Offset, Failures>) -> Vec<Document> {
    let mut entries: Vec<(Counts<'_>, Vec<Range<Offset>>)> = Vec::new();
    let mut known: HashMap<Counts<'_>, usize> = HashMap::new();
    let (mut bytes, mut reason_bytes) = (0, 0);
    let mut last: Option<(&Failures, usize)> = None;
    for (&offset, failure) in failures {
        if let Some((like, entry)) = last
            && like == failure
            && let Some(range) = entries[entry].1.last_mut().filter(|range| range.end == offset)
        {
            range.end += 1;
            continue;
        }
        let mut counts = (failure.attempts, failure.returns, failure.reason.as_deref());
        if !known.contains_key(&counts) {
            let more = counts.2.map_or(0, str::len);
            if reason_bytes + more > REASONS_BYTES {
                counts.2 = None;
            } else {
                reason_bytes += more;
            }
        }
        let entry = *known.entry(counts).or_insert_with(|| {
            bytes += ENTRY_BYTES;
            entries.push((counts, Vec::new()));
            entries.len() - 1
        });
        last = Some((failure, entry));
        match entries[entry].1.last_mut() {
            Some(range) if range.end == offset => range.end += 1,
            _ if bytes > FAILURES_BYTES => {
                tracing::warn!(cursor = %name, failed = failures.len(), from = offset, "too many events failed in too many ways: the counts from this offset on are kept in memory only");
                break;
            }
            _ => {
                bytes += RANGE_BYTES;
                entries[entry].1.push(offset..offset + 1);
            }
        }
    }
    let document = |((attempts, returns, reason), offsets): (Counts<'_>, Vec<Range<Offset>>)| {
        let offsets: Vec<Bson> =
            offsets.into_iter().map(|range| vec![range.start as i64, range.end as i64].into()).collect();
        doc! { "attempts": i64::from(attempts), "returns": i64::from(returns), "reason": reason, "offsets": offsets }
    };
    entries.into_iter().map(document).collect()
}

pub fn read_failures(stored: &RawArray) -> Option<BTreeMap<Offset, Failures>> {
    let mut failures = BTreeMap::new();
    for entry in stored {
        let entry = entry.ok()?.as_document()?;
        let count = |name| u32::try_from(whole(entry.get(name).ok()??)?).ok();
        let reason = entry.get("reason").ok()?.and_then(|reason| reason.as_str()).map(str::to_owned);
        let failure = Failures { attempts: count("attempts")?, returns: count("returns")?, reason };
        for range in read_ranges(entry.get_array("offsets").ok()?) {
            failures.extend(range?.map(|offset| (offset, failure.clone())));
        }
    }
    Some(failures)
}

/// `[[from, to]…]`; `None` is a range in another form.
pub fn read_ranges(stored: &RawArray) -> impl Iterator<Item = Option<Range<Offset>>> {
    stored.into_iter().map(|range| {
        let mut ends = range.ok()?.as_array()?.into_iter();
        let mut end = || whole(ends.next()?.ok()?);
        Some(end()? as Offset..end()? as Offset)
    })
}

pub fn whole(value: RawBsonRef<'_>) -> Option<i64> {
    match value {
        RawBsonRef::Int64(value) => Some(value),
        RawBsonRef::Int32(value) => Some(value.into()),
        _ => None,
    }
}
