//! `OK{corr?, …}`: the frame was done. What else it carries depends on the frame it answers.

use prom_types::{Durability, EpochMs, EventId, Offset, Receipt};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::auth::Welcome;
use super::err::Problem;
use super::usual::{digits, ok_corr};
use super::write::{self, Object};
use super::{Corr, FrameError, Which};

/// The result of one event of a batch: in the frame `[partition, offset, stored_ts]`, with the id behind
/// it where the hub made it and `true` where the id was stored before, or a [`Problem`].
pub type BatchResult<'a> = Result<BatchReceipt, &'a Problem>;

/// Where an event of a batch was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchReceipt {
    pub partition: u32,
    pub offset: Offset,
    pub stored_ts: EpochMs,
    /// Only where the publisher gave none.
    pub id: Option<EventId>,
    /// The id was stored before, here.
    pub duplicate: bool,
}

/// The answer to a batch, as clients read it.
#[derive(Debug, PartialEq)]
pub struct BatchAnswer {
    pub durability: Durability,
    pub results: Vec<Result<BatchReceipt, Problem>>,
}

/// Nothing more to say.
pub fn write(out: &mut Vec<u8>, corr: Option<&Corr>) {
    Object::frame(out, "OK", corr).end();
}

/// Subscribed; the notes say what was asked for and is otherwise.
pub fn write_notes(out: &mut Vec<u8>, corr: Option<&Corr>, notes: &[String]) {
    let mut object = Object::frame(out, "OK", corr);
    if !notes.is_empty() {
        object.raw("notes", serde_json::Value::from(notes).to_string().as_bytes());
    }
    object.end();
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
    if receipt.duplicate {
        object.raw("duplicate", b"true");
    }
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

impl BatchReceipt {
    /// The id is told only to publishers who do not know it.
    #[inline]
    pub fn of(receipt: &Receipt, given: Option<EventId>) -> Self {
        let Receipt { id, partition, offset, stored_ts, duplicate, .. } = *receipt;
        Self { partition, offset, stored_ts, id: given.is_none().then_some(id), duplicate }
    }

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
        if self.duplicate {
            out.extend_from_slice(b",true");
        }
        out.push(b']');
    }

    /// Reads one in any of its forms.
    fn read(json: &str) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Placed((u32, Offset, EpochMs)),
            Duplicate((u32, Offset, EpochMs, bool)),
            Named((u32, Offset, EpochMs, EventId)),
            NamedDuplicate((u32, Offset, EpochMs, EventId, bool)),
        }
        let ((partition, offset, stored_ts), id, duplicate) = match serde_json::from_str(json)? {
            Form::Placed(placed) => (placed, None, false),
            Form::Duplicate((partition, offset, stored_ts, duplicate)) => {
                ((partition, offset, stored_ts), None, duplicate)
            }
            Form::Named((partition, offset, stored_ts, id)) => ((partition, offset, stored_ts), Some(id), false),
            Form::NamedDuplicate((partition, offset, stored_ts, id, duplicate)) => {
                ((partition, offset, stored_ts), Some(id), duplicate)
            }
        };
        Ok(Self { partition, offset, stored_ts, id, duplicate })
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
        // As this hub writes it where all are stored: the answer to nearly every batch there is.
        if let Some(answer) = all_placed(text) {
            return Ok(answer);
        }
        let fields: BatchFields<'_> = serde_json::from_slice(text)?;
        let result = |raw: &RawValue| -> Result<Result<BatchReceipt, Problem>, FrameError> {
            if raw.get().starts_with('{') {
                return Ok(Err(serde_json::from_str(raw.get())?));
            }
            Ok(Ok(BatchReceipt::read(raw.get())?))
        };
        let results = fields.results.into_iter().map(result).collect::<Result<_, _>>()?;
        Ok(Self { durability: fields.durability, results })
    }
}

/// The answer, if it is written as [`write_results`] does and holds places alone.
fn all_placed(text: &[u8]) -> Option<BatchAnswer> {
    let (_, mut rest) = ok_corr(text)?;
    let durability = rest.strip_prefix(b",\"durability\":\"")?;
    let quote = durability.iter().position(|byte| *byte == b'"')?;
    let kinds = [Durability::Fsync, Durability::Os, Durability::Majority, Durability::Memory];
    let durability_is = |kind: &Durability| kind.as_str().as_bytes() == &durability[..quote];
    let kind = kinds.into_iter().find(durability_is)?;
    rest = durability[quote..].strip_prefix(b"\",\"results\":[")?;
    // Never more than the text has room for.
    let mut results = Vec::with_capacity(rest.len() / 16);
    loop {
        let partition = digits(rest.strip_prefix(b"[")?)?;
        let offset = digits(partition.1.strip_prefix(b",")?)?;
        let stored_ts = digits(offset.1.strip_prefix(b",")?)?;
        rest = stored_ts.1.strip_prefix(b"]")?;
        results.push(Ok(BatchReceipt {
            partition: u32::try_from(partition.0).ok()?,
            offset: offset.0,
            stored_ts: EpochMs::try_from(stored_ts.0).ok()?,
            id: None,
            duplicate: false,
        }));
        match rest.split_first()? {
            (b',', more) => rest = more,
            (b']', b"}") => return Some(BatchAnswer { durability: kind, results }),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(results: &[BatchResult<'_>]) -> Vec<u8> {
        let mut out = Vec::new();
        write_results(&mut out, Some(&Corr::number(7)), Durability::Fsync, results.iter().copied());
        out
    }

    #[test]
    fn places_are_read_as_written_by_either_way() {
        let place =
            |offset| BatchReceipt { partition: 3, offset, stored_ts: 1_767_225_600_123, id: None, duplicate: false };
        let text = written(&[Ok(place(0)), Ok(place(u64::MAX))]);
        let quick = all_placed(&text).expect("the usual form");
        assert_eq!(quick.results, [Ok(place(0)), Ok(place(u64::MAX))]);
        let spaced = String::from_utf8(text).unwrap().replace("],[", "], [");
        assert_eq!(all_placed(spaced.as_bytes()), None);
        assert_eq!(BatchAnswer::read(spaced.as_bytes()).unwrap(), quick);
    }

    #[test]
    fn whatever_else_an_answer_holds_is_left_to_the_careful_way() {
        let id = Some(EventId::derived("a"));
        let place = BatchReceipt { partition: 0, offset: 1, stored_ts: 2, id, duplicate: false };
        let duplicate = BatchReceipt { duplicate: true, ..place };
        let problem = Problem::new(crate::ErrorCode::BadRequest, "no");
        for results in
            [&[Ok(place)][..], &[Ok(duplicate)], &[Ok(BatchReceipt { id: None, ..duplicate })], &[Err(&problem)], &[]]
        {
            let text = written(results);
            assert_eq!(all_placed(&text), None);
            let read = BatchAnswer::read(&text).unwrap().results;
            assert_eq!(
                read.iter().map(Result::as_ref).collect::<Vec<_>>(),
                results.iter().map(Result::as_ref).map(|one| one.map_err(|problem| *problem)).collect::<Vec<_>>()
            );
        }
        let text = String::from_utf8(written(&[Ok(BatchReceipt { id: None, ..place })])).unwrap();
        for (right, wrong) in [("[0,1,2]", "[0,01,2]"), ("[0,1,2]", "[0,1,-2]"), ("[0,1,2]", "[0,1]"), ("]}", "]")] {
            assert_eq!(all_placed(text.replace(right, wrong).as_bytes()), None, "{wrong}");
        }
    }
}
