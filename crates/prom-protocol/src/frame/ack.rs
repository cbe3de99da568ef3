//! `ACK{topic, group, id}` → `OK` when it is as durable as a publish. With the feature `batch` also
//! `ids: […]`, or `partition` and `offsets: [[from, to]…]` of the concrete topic, both ends included;
//! the OK of many names in `unknown` those that are not leased to the asker, in the same form.

use std::borrow::Cow;

use prom_types::Offset;
use smallvec::smallvec;

use super::client::Fields;
use super::field::{self, optional, required};
use super::write::{self, Object};
use super::{Corr, FrameError, Which};
use crate::limits::BATCH_ITEMS;

#[derive(Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    /// What was subscribed to, or the event's own topic.
    pub topic: Cow<'a, str>,
    pub group: Cow<'a, str>,
    pub which: Which,
}

impl<'a> Ack<'a> {
    pub(super) fn read(fields: &Fields<'a>) -> Result<Self, FrameError> {
        Ok(Self {
            topic: required("topic", fields.topic, field::text)?,
            group: required("group", fields.group, field::text)?,
            which: Which::read(fields)?,
        })
    }

    pub fn write(&self, out: &mut Vec<u8>, corr: Option<&Corr>) {
        let mut object = Object::frame(out, "ACK", corr);
        object.text("topic", &self.topic).text("group", &self.group);
        self.which.write(&mut object);
        object.end();
    }
}

impl Which {
    pub(super) fn read(fields: &Fields<'_>) -> Result<Self, FrameError> {
        if fields.offsets.is_some() {
            let ranges: Vec<(Offset, Offset)> = required("offsets", fields.offsets, |name, raw| {
                serde_json::from_str(raw.get()).map_err(|_| FrameError::field(name, "must be a list of [from, to]"))
            })?;
            bounded(ranges.len())?;
            if ranges.iter().any(|(from, to)| from > to) {
                return Err(FrameError::field("offsets", "has a range that ends before it begins"));
            }
            // Each event once: what a frame costs follows from what it names.
            if ranges.windows(2).any(|pair| pair[0].1 >= pair[1].0) {
                return Err(FrameError::field("offsets", "must have its ranges in order and apart from each other"));
            }
            let partition = optional("partition", fields.partition, field::number)?.unwrap_or_default();
            return Ok(Self::Offsets { partition, ranges });
        }
        if let Some(ids) = optional("ids", fields.ids, field::event_ids::<BATCH_ITEMS>)? {
            bounded(ids.len())?;
            let mut sorted = ids.clone();
            sorted.sort_unstable();
            if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(FrameError::field("ids", "names an event twice"));
            }
            return Ok(Self::Ids(ids.into()));
        }
        Ok(Self::Ids(smallvec![required("id", fields.id, field::event_id)?]))
    }

    pub(super) fn write(&self, object: &mut Object<'_>) {
        match self {
            Self::Ids(ids) => {
                let out = match ids.len() {
                    1 => object.name("id"),
                    _ => object.name("ids"),
                };
                let (open, close): (&[u8], &[u8]) = if ids.len() == 1 { (b"", b"") } else { (b"[", b"]") };
                out.extend_from_slice(open);
                for (at, id) in ids.iter().enumerate() {
                    out.extend_from_slice(if at == 0 { b"\"" } else { b",\"" });
                    id.write_to(out);
                    out.push(b'"');
                }
                out.extend_from_slice(close);
            }
            Self::Offsets { partition, ranges } => {
                object.number("partition", *partition);
                let out = object.name("offsets");
                out.push(b'[');
                for (at, (from, to)) in ranges.iter().enumerate() {
                    out.extend_from_slice(if at == 0 { b"[" } else { b",[" });
                    write::number(out, *from);
                    out.push(b',');
                    write::number(out, *to);
                    out.push(b']');
                }
                out.push(b']');
            }
        }
    }
}

impl Which {
    /// How many events it can name at most.
    pub(super) fn most(&self) -> u64 {
        match self {
            Self::Ids(ids) => ids.len() as u64,
            Self::Offsets { ranges, .. } => {
                ranges.iter().fold(0, |sum, (from, to)| sum.saturating_add((to - from).saturating_add(1)))
            }
        }
    }
}

fn bounded(items: usize) -> Result<(), FrameError> {
    if items > BATCH_ITEMS {
        Err(FrameError::TooLarge(format!("{items} items in a frame, at most {BATCH_ITEMS} fit")))
    } else {
        Ok(())
    }
}
