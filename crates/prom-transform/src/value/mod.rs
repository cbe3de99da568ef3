//! The values that programs compute with: JSON values with metered operations.
//!
//! [`Value`] wraps the interpreter's own JSON value and knows two upper bounds that the inner value does not: how deep
//! it nests (releasing, comparing and writing a value recurse), and how many accesses led to it (releasing a path
//! recurses too). An operation that builds, copies, compares or walks a value is charged first.

mod access;
mod arithmetic;
pub(crate) mod compare;
mod standard;
mod update;

use std::fmt;

use jaq_core::val::Range;
use jaq_json::{Map, Rc, Val};

use crate::limits::{ACCESS_CHAIN, QUOTED_BYTES};
use crate::{error::Exceeded, meter, text};

pub(crate) use access::{has, indices};

pub(crate) type Error = jaq_core::Error<Value>;
pub(crate) type ValueResult = Result<Value, Error>;

/// Rough sizes for the meter: an element of an array, an entry of an object.
pub(crate) const ELEMENT_BYTES: usize = std::mem::size_of::<Val>();
pub(crate) const ENTRY_BYTES: usize = 64;

#[derive(Clone)]
pub(crate) struct Value {
    pub(crate) val: Val,
    /// Upper bound of the nesting: 0 for scalars, 1 for `[]`, 2 for `[[]]`.
    depth: u16,
    /// Accesses since the value was built.
    accesses: u16,
}

impl Value {
    pub(crate) fn scalar(val: Val) -> Self {
        Self { val, depth: 0, accesses: 0 }
    }

    /// A value whose parts are known to nest to at most `depth`.
    pub(crate) fn built(val: Val, depth: u16) -> Self {
        Self { val, depth: meter::nest(depth), accesses: 0 }
    }

    pub(crate) fn string(bytes: Vec<u8>) -> Self {
        Self::scalar(Val::utf8_str(bytes))
    }

    /// Turns children of this value into values.
    pub(crate) fn origin(&self) -> ValueOrigin {
        if self.accesses >= ACCESS_CHAIN {
            meter::stop(Exceeded::Depth);
        }
        ValueOrigin { depth: self.depth, accesses: self.accesses + 1 }
    }
}

/// The parent of a child value.
#[derive(Clone, Copy)]
pub(crate) struct ValueOrigin {
    depth: u16,
    accesses: u16,
}

impl ValueOrigin {
    pub(crate) fn child(self, val: Val) -> Value {
        let depth = match val {
            Val::Arr(_) | Val::Obj(_) => self.depth.saturating_sub(1).max(1),
            _ => 0,
        };
        Value { val, depth, accesses: self.accesses }
    }

    /// A part of the same nesting as its parent, such as a slice.
    pub(crate) fn slice(self, val: Val) -> Value {
        Value { val, depth: self.depth, accesses: self.accesses }
    }
}

/// Takes the elements out, charging for the copy if they are shared.
pub(crate) fn own_elements(elements: Rc<Vec<Val>>) -> Vec<Val> {
    meter::work(elements.len());
    Rc::try_unwrap(elements).unwrap_or_else(|shared| {
        meter::build(shared.len() * ELEMENT_BYTES);
        (*shared).clone()
    })
}

/// Takes the entries out, charging for the copy if they are shared.
pub(crate) fn own_entries(entries: Rc<Map>) -> Map {
    meter::work(entries.len());
    Rc::try_unwrap(entries).unwrap_or_else(|shared| {
        meter::build(shared.len() * ENTRY_BYTES);
        (*shared).clone()
    })
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::scalar(value.into())
    }
}

impl From<isize> for Value {
    fn from(value: isize) -> Self {
        Self::scalar(value.into())
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::scalar(value.into())
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::scalar(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        meter::build(value.len());
        Self::string(value.into_bytes())
    }
}

impl From<Range<Value>> for Value {
    fn from(range: Range<Value>) -> Self {
        let mut entries = Map::default();
        let mut depth = 0;
        for (name, bound) in [("start", range.start), ("end", range.end)] {
            if let Some(bound) = bound {
                depth = depth.max(bound.depth);
                entries.insert(Val::utf8_str(name), bound.val);
            }
        }
        Self::built(Val::obj(entries), depth + 1)
    }
}

impl FromIterator<Value> for Value {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        let mut depth = 0;
        let elements: Vec<Val> = values
            .into_iter()
            .map(|value| {
                meter::build(ELEMENT_BYTES);
                depth = depth.max(value.depth);
                value.val
            })
            .collect();
        Self::built(Val::Arr(Rc::new(elements)), depth + 1)
    }
}

/// Used by error messages, so long values are truncated.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.val {
            Val::TStr(bytes) => f.write_str(&text::quote(bytes, QUOTED_BYTES)),
            val => f.write_str(&text::quote(&text::abbreviate(val, QUOTED_BYTES), QUOTED_BYTES)),
        }
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
