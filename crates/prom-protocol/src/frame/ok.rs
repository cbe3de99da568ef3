//! `OK{corr?, …}`: the frame was done. What else it carries depends on the frame it answers.

use prom_types::{Durability, EpochMs, EventId, Offset, Receipt};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::auth::Welcome;
use super::err::Problem;
use super::write::{self, Object};
use super::{Corr, FrameError, Which};

/// The result of one event of a batch: in the frame `[partition, offset, stored_ts]`, with the id behind
/// it where the hub made it, or a [`Problem`].
pub type BatchResult<'a> = Result<Placed, &'a Problem>;

/// Where an event of a batch was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    pub partition: u32,
    pub offset: Offset,
    pub stored_ts: EpochMs,
    /// Only where the publisher gave none.
    pub id: Option<EventId>,
}

/// The answer to a batch, as clients read it.
#[derive(Debug, PartialEq)]
pub struct BatchAnswer {
    pub durability: Durability,
    pub results: Vec<Result<Placed, Problem>>,
}

/// Nothing more to say.
pub fn write(out: &mut Vec<u8>, corr: Option<&Corr>) {
    Object::frame(out, "OK", corr).end();
}

pub fn write_welcome(out: &mut Vec<u8>, corr: Option<&Corr>, welcome: &Welcome) {
    let object = Object::frame(out, "OK", corr);
    match serde_json::to_vec(welcome) {
        Ok(members) if members.len() > 2 => {
            object.end();
            // The members of one object behind those of the other.
            out.pop();
            out.push(b',');
            out.extend_from_slice(&members[1..]);
        }
        _ => object.end(),
    }
}

pub fn write_receipt(out: &mut Vec<u8>, corr: Option<&Corr>, receipt: &Receipt) {
    let mut object = Object::frame(out, "OK", corr);
    let id = object.name("id");
    id.push(b'"');
    receipt.id.write_to(id);
    id.push(b'"');
    object
        .number("partition", receipt.partition)
        .number("offset", receipt.offset)
        .number("stored_ts", receipt.stored_ts)
        .text("durability", receipt.durability.as_str());
    object.end();
}

/// Settled, all but these: they are not leased to the asker.
pub fn write_unknown(out: &mut Vec<u8>, corr: Option<&Corr>, unknown: &Which) {
    let mut object = Object::frame(out, "OK", corr);
    let list = object.name("unknown");
    list.push(b'[');
    match unknown {
        Which::Ids(ids) => {
            for (at, id) in ids.iter().enumerate() {
                list.extend_from_slice(if at == 0 { b"\"" } else { b",\"" });
                id.write_to(list);
                list.push(b'"');
            }
        }
        Which::Offsets { ranges, .. } => {
            for (at, (from, to)) in ranges.iter().enumerate() {
                list.extend_from_slice(if at == 0 { b"[" } else { b",[" });
                write::number(list, *from);
                list.push(b',');
                write::number(list, *to);
                list.push(b']');
            }
        }
    }
    list.push(b']');
    object.end();
}

pub fn write_results<'p>(
    out: &mut Vec<u8>,
    corr: Option<&Corr>,
    durability: Durability,
    results: impl Iterator<Item = BatchResult<'p>>,
) {
    let mut object = Object::frame(out, "OK", corr);
    object.text("durability", durability.as_str());
    let list = object.name("results");
    list.push(b'[');
    for (at, result) in results.enumerate() {
        if at > 0 {
            list.push(b',');
        }
        match result {
            Ok(placed) => placed.write(list),
            Err(problem) => problem.write_object(list),
        }
    }
    list.push(b']');
    object.end();
}

impl Placed {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        write::number(out, self.partition);
        out.push(b',');
        write::number(out, self.offset);
        out.push(b',');
        write::number(out, self.stored_ts);
        if let Some(id) = self.id {
            out.extend_from_slice(b",\"");
            id.write_to(out);
            out.push(b'"');
        }
        out.push(b']');
    }
}

#[derive(Deserialize)]
struct BatchFields<'a> {
    durability: Durability,
    #[serde(borrow)]
    results: Vec<&'a RawValue>,
}

impl BatchAnswer {
    /// Reads the text of an OK that answers a batch.
    pub fn read(text: &[u8]) -> Result<Self, FrameError> {
        let fields: BatchFields<'_> = serde_json::from_slice(text)?;
        let result = |raw: &RawValue| -> Result<Result<Placed, Problem>, FrameError> {
            if raw.get().starts_with('{') {
                return Ok(Err(serde_json::from_str(raw.get())?));
            }
            if let Ok((partition, offset, stored_ts)) = serde_json::from_str(raw.get()) {
                return Ok(Ok(Placed { partition, offset, stored_ts, id: None }));
            }
            let (partition, offset, stored_ts, id) = serde_json::from_str(raw.get())?;
            Ok(Ok(Placed { partition, offset, stored_ts, id: Some(id) }))
        };
        let results = fields.results.into_iter().map(result).collect::<Result<_, _>>()?;
        Ok(Self { durability: fields.durability, results })
    }
}
