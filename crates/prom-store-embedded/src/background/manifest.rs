//! What a checkpoint writes down about a log: enough to go on without looking at its files.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use prom_store::{Bounds, Damage, LogName};

use crate::codec::{Malformed, Put, Take};
use crate::documents::keys;
use crate::journal::entry::{options_bits, options_of, put_log_name, take_log_name};
use crate::log::{LogState, LogTail};
use crate::segment::{GoneIds, Segment};
use crate::shared::segments_dir;

/// `None` for a log that nothing durable mentions yet.
pub(crate) fn encode(name: &LogName, state: &LogState) -> Option<(Vec<u8>, Option<Bytes>)> {
    let id = state.id?;
    let mut out = Vec::new();
    put_log_name(&mut out, name);
    out.put_u8(options_bits(state.options));
    out.put_u8(u8::from(state.latest_known));
    out.put_u64(state.bounds.start);
    // Events beyond this are still in the journal and come back from there.
    out.put_u64(state.tail.durable_to(state.bounds.next));
    out.put_i64(state.last_stored_ts);
    out.put_u32(state.segments.len() as u32);
    state.segments.iter().for_each(|segment| segment.put(&mut out));
    out.put_u32(state.damage.len() as u32);
    for damage in &state.damage {
        let lost = damage.lost.clone().unwrap_or(0..0);
        out.put_bytes(damage.file.to_string_lossy().as_bytes());
        out.put_u64(damage.position);
        out.put_bytes(damage.reason.as_bytes());
        out.put_u64(lost.start);
        out.put_u64(lost.end);
    }
    out.put_u32(state.gone.len() as u32);
    state.gone.iter().for_each(|gone| gone.put(&mut out));
    out.put_u8(u8::from(state.ended));
    out.put_u64(state.begun);
    out.put_u64(state.latest_from);
    Some((keys::log(id), Some(out.into())))
}

pub(crate) fn decode(root: &Path, key: &[u8], bytes: &[u8]) -> Result<(LogName, LogState), Malformed> {
    let id = key.strip_prefix(keys::ALL_LOGS).ok_or(Malformed)?;
    let id = u32::from_be_bytes(id.try_into().map_err(|_| Malformed)?);
    let mut take = Take::new(bytes);
    let name = take_log_name(&mut take)?;
    let options = options_of(take.u8()?);
    let latest_known = take.u8()? != 0;
    let (start, next, last_stored_ts) = (take.u64()?, take.u64()?, take.i64()?);
    let dir = segments_dir(root, id);
    let mut segments = Vec::new();
    for _ in 0..take.u32()? {
        segments.push(Arc::new(Segment::take(&dir, &mut take)?));
    }
    let mut damage = Vec::new();
    for _ in 0..take.u32()? {
        damage.push(Damage {
            file: take.text()?.into(),
            position: take.u64()?,
            reason: take.text()?.to_owned(),
            lost: Some(take.u64()?..take.u64()?),
        });
    }
    let mut gone = Vec::new();
    // An older manifest ends here.
    for _ in 0..if take.is_empty() { 0 } else { take.u32()? } {
        gone.push(Arc::new(GoneIds::take(&dir, &mut take)?));
    }
    // So does a less old one here.
    let (ended, begun) = if take.is_empty() { (false, 0) } else { (take.u8()? != 0, take.u64()?) };
    // And so does one from before versions were kept.
    let latest_from = if take.is_empty() { begun } else { take.u64()? };
    let state = LogState {
        id: Some(id),
        options,
        bounds: Bounds { start, next },
        last_stored_ts,
        segments,
        gone,
        tail: LogTail::starting_at(next),
        latest_known,
        latest_from,
        damage,
        ended,
        begun,
        ..LogState::default()
    };
    Ok((name, state))
}
