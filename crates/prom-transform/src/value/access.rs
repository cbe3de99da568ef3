//! Reading parts of values: `.a`, `.[0]`, `.[1:]`, `.[]`.

use jaq_core::box_iter::box_once;
use jaq_core::val::Range;
use jaq_json::{Rc, Val};
use jaq_std::ValT as _;

use super::compare::{equal, equal_elements};
use super::{ELEMENT_BYTES, Error, Value, ValueResult, own_elements, own_entries};
use crate::meter;

/// Bytes stepped over per unit of work, when characters are counted.
pub(super) const BYTES_PER_WORK: usize = 64;

pub(super) fn key_values(value: Value) -> Box<dyn Iterator<Item = Result<(Value, Value), Error>>> {
    let origin = value.origin();
    match value.val {
        Val::Arr(elements) => Box::new(
            own_elements(elements)
                .into_iter()
                .enumerate()
                .map(move |(index, val)| Ok((Value::from(index), origin.child(val)))),
        ),
        Val::Obj(entries) => Box::new(
            own_entries(entries).into_iter().map(move |(key, val)| Ok((Value::scalar(key), origin.child(val)))),
        ),
        _ => box_once(Err(Error::typ(value, "iterable (array or object)"))),
    }
}

pub(super) fn values(value: Value) -> Box<dyn Iterator<Item = ValueResult>> {
    let origin = value.origin();
    match value.val {
        Val::Arr(elements) => Box::new(own_elements(elements).into_iter().map(move |val| Ok(origin.child(val)))),
        Val::Obj(entries) => Box::new(own_entries(entries).into_iter().map(move |(_, val)| Ok(origin.child(val)))),
        _ => box_once(Err(Error::typ(value, "iterable (array or object)"))),
    }
}

pub(super) fn index(value: Value, index: &Value) -> ValueResult {
    let origin = value.origin();
    let found = match (&value.val, &index.val) {
        (Val::Null, Val::Null | Val::Num(_) | Val::TStr(_) | Val::Obj(_)) => None,
        (Val::Obj(entries), key @ Val::TStr(_)) => entries.get(key).cloned(),
        (Val::Arr(elements), Val::Num(_)) => position(index, elements.len()).map(|at| elements[at].clone()),
        (Val::Arr(_), Val::Arr(_)) => return indices(&value, index),
        (Val::Arr(_) | Val::TStr(_), Val::Obj(bounds)) => {
            let bound = |name: &str| bounds.get(&Val::utf8_str(name.to_owned())).cloned().map(Value::scalar);
            let (start, end) = (bound("start"), bound("end"));
            return range(value, start.as_ref()..end.as_ref());
        }
        _ => return Err(Error::index(value, index.clone())),
    };
    Ok(origin.child(found.unwrap_or(Val::Null)))
}

/// Whether `.[index]` would find something.
pub(crate) fn has(value: Value, index: &Value) -> ValueResult {
    match (&value.val, &index.val) {
        (Val::Obj(entries), key @ Val::TStr(_)) => Ok(entries.contains_key(key).into()),
        (Val::Arr(elements), Val::Num(_)) => Ok(position(index, elements.len()).is_some().into()),
        _ => Err(Error::index(value, index.clone())),
    }
}

/// Where `part` begins in `value`: characters of a string, elements or runs of elements of an array.
pub(crate) fn indices(value: &Value, part: &Value) -> ValueResult {
    let found: Vec<usize> = match (&value.val, &part.val) {
        (Val::TStr(_) | Val::Arr(_), Val::TStr(part)) if part.is_empty() => Vec::new(),
        (Val::Arr(_), Val::Arr(part)) if part.is_empty() => Vec::new(),
        (Val::TStr(text), Val::TStr(part)) => {
            meter::work(text.len() / BYTES_PER_WORK * part.len().min(BYTES_PER_WORK));
            let text = String::from_utf8_lossy(text);
            let starts = text.char_indices().map(|(at, _)| &text.as_bytes()[at..]).enumerate();
            starts.filter(|(_, rest)| rest.starts_with(part)).map(|(at, _)| at).collect()
        }
        (Val::Arr(elements), Val::Arr(part)) => {
            let runs = elements.windows(part.len()).enumerate();
            runs.filter(|(_, run)| equal_elements(run, part)).map(|(at, _)| at).collect()
        }
        (Val::Arr(elements), part) => {
            let elements = elements.iter().enumerate();
            elements.filter(|(_, val)| equal(val, part)).map(|(at, _)| at).collect()
        }
        _ => return Err(Error::index(value.clone(), part.clone())),
    };
    Ok(found.into_iter().map(Value::from).collect())
}

pub(super) fn range(value: Value, range: Range<&Value>) -> ValueResult {
    let origin = value.origin();
    let val = match &value.val {
        Val::Null => Val::Null,
        Val::Arr(elements) => {
            let (start, end) = bounds(&range, elements.len())?;
            meter::build((end - start) * ELEMENT_BYTES);
            Val::Arr(Rc::new(elements[start..end].to_vec()))
        }
        Val::TStr(text) => {
            meter::work(text.len() / BYTES_PER_WORK);
            let count = String::from_utf8_lossy(text).chars().count();
            let (start, end) = bounds(&range, count)?;
            let text = String::from_utf8_lossy(text);
            let part: String = text.chars().skip(start).take(end - start).collect();
            meter::build(part.len());
            Val::utf8_str(part)
        }
        _ => return Err(Error::typ(value, "rangeable (array or string)")),
    };
    Ok(origin.slice(val))
}

/// Start and end of a slice, clipped to `0..=len`, start not after end.
pub(super) fn bounds(range: &Range<&Value>, len: usize) -> Result<(usize, usize), Error> {
    let bound = |bound: Option<&Value>, absent: usize| match bound {
        None => Ok(absent),
        Some(value) if matches!(value.val, Val::Null) => Ok(absent),
        Some(value) => match value.as_f64() {
            // Conversion clips; a negative bound counts from the end.
            Some(at) if at < 0.0 => Ok(len.saturating_sub((-at).ceil() as usize)),
            Some(at) => Ok((at as usize).min(len)),
            None => Err(Error::typ(value.clone(), "integer")),
        },
    };
    let (start, end) = (bound(range.start, 0)?, bound(range.end, len)?);
    Ok((start.min(end), end))
}

/// The element that a number means; negative numbers count from the end, fractions are dropped.
pub(super) fn position(index: &Value, len: usize) -> Option<usize> {
    let at = match index.as_isize() {
        Some(at) => at,
        None => index.as_f64().filter(|at| at.is_finite())?.floor() as isize,
    };
    let at = if at < 0 { len.checked_sub(at.unsigned_abs())? } else { at.unsigned_abs() };
    (at < len).then_some(at)
}
