//! `+ - * / %` and negation, as jq defines them. An operation that builds a value is charged before it builds.

use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

use jaq_core::ops::Math;
use jaq_json::{Map, Num, Rc, Val};
use jaq_std::ValT as _;

use super::compare::order;
use super::{ELEMENT_BYTES, ENTRY_BYTES, Error, Value, ValueResult, own_elements};
use crate::limits::INTEGER_BITS;
use crate::meter;

/// Integers grow without end otherwise.
fn number(number: Num) -> ValueResult {
    match &number {
        Num::BigInt(integer) if integer.bits() > INTEGER_BITS => {
            Err(Error::str(format_args!("integer of more than {INTEGER_BITS} bits")))
        }
        _ => Ok(Value::scalar(Val::Num(number))),
    }
}

impl Add for Value {
    type Output = ValueResult;

    fn add(self, right: Self) -> ValueResult {
        meter::work(1);
        let depth = self.depth.max(right.depth);
        match (self.val, right.val) {
            (Val::Null, val) | (val, Val::Null) => Ok(Value::built(val, depth)),
            (Val::Num(left), Val::Num(right)) => number(left + right),
            (Val::TStr(left), Val::TStr(right)) => {
                // A string with a single owner grows in place.
                meter::build(right.len() + if left.is_unique() { 0 } else { left.len() });
                joined(Val::TStr(left) + Val::TStr(right))
            }
            (Val::Arr(mut left), Val::Arr(right)) => {
                let copied = if Rc::strong_count(&left) == 1 { 0 } else { left.len() };
                meter::build((right.len() + copied) * ELEMENT_BYTES);
                Rc::make_mut(&mut left).extend(right.iter().cloned());
                Ok(Value::built(Val::Arr(left), depth))
            }
            (Val::Obj(mut left), Val::Obj(right)) => {
                let copied = if Rc::strong_count(&left) == 1 { 0 } else { left.len() };
                meter::build((right.len() + copied) * ENTRY_BYTES);
                let entries = right.iter().map(|(key, val)| (key.clone(), val.clone()));
                Rc::make_mut(&mut left).extend(entries);
                Ok(Value::built(Val::Obj(left), depth))
            }
            (left, right) => mismatch(left, Math::Add, right),
        }
    }
}

impl Sub for Value {
    type Output = ValueResult;

    fn sub(self, right: Self) -> ValueResult {
        meter::work(1);
        let depth = self.depth;
        match (self.val, right.val) {
            (Val::Num(left), Val::Num(right)) => number(left - right),
            (Val::Arr(left), Val::Arr(right)) => {
                let mut without: Vec<&Val> = right.iter().collect();
                without.sort_by(|left, right| order(left, right));
                let mut left = own_elements(left);
                left.retain(|val| without.binary_search_by(|other| order(other, val)).is_err());
                Ok(Value::built(Val::Arr(Rc::new(left)), depth))
            }
            (left, right) => mismatch(left, Math::Sub, right),
        }
    }
}

impl Mul for Value {
    type Output = ValueResult;

    fn mul(self, right: Self) -> ValueResult {
        meter::work(1);
        let depth = self.depth.max(right.depth);
        match (self.val, right.val) {
            (Val::Num(left), Val::Num(right)) => number(left * right),
            (Val::TStr(text), times @ Val::Num(_)) | (times @ Val::Num(_), Val::TStr(text)) => repeat(&text, &times),
            (Val::Obj(mut left), Val::Obj(right)) => {
                merge(&mut left, &right);
                Ok(Value::built(Val::Obj(left), depth))
            }
            (left, right) => mismatch(left, Math::Mul, right),
        }
    }
}

/// `"ab" * 3`; zero or less is `null`, a fraction of one is one.
fn repeat(text: &[u8], times: &Val) -> ValueResult {
    let times = times.as_f64().unwrap_or(0.0);
    if times.is_nan() || times <= 0.0 {
        return Ok(Value::scalar(Val::Null));
    }
    let times = times.max(1.0) as usize;
    meter::build(text.len().saturating_mul(times));
    Ok(Value::string(text.repeat(times)))
}

/// Merges deeply. Parts may be shared, and copying them can expand, so every entry is charged.
fn merge(left: &mut Rc<Map>, right: &Map) {
    if Rc::strong_count(left) > 1 {
        meter::build(left.len() * ENTRY_BYTES);
    }
    meter::build(right.len() * ENTRY_BYTES);
    meter::work(1);
    let left = Rc::make_mut(left);
    for (key, val) in right {
        match (left.get_mut(key), val) {
            (Some(Val::Obj(left)), Val::Obj(right)) => merge(left, right),
            (Some(left), right) => *left = right.clone(),
            (None, right) => {
                left.insert(key.clone(), right.clone());
            }
        }
    }
}

impl Div for Value {
    type Output = ValueResult;

    fn div(self, right: Self) -> ValueResult {
        meter::work(1);
        match (self.val, right.val) {
            (Val::Num(left), Val::Num(right)) => number(left / right),
            (Val::TStr(text), Val::TStr(separator)) => {
                let parts = text.len() / separator.len().max(1) + 1;
                meter::build(parts * (ELEMENT_BYTES + std::mem::size_of_val(&*text)));
                (Val::TStr(text) / Val::TStr(separator))
                    .map(|val| Value::built(val, 1))
                    .map_err(|_| Error::str("cannot split"))
            }
            (left, right) => mismatch(left, Math::Div, right),
        }
    }
}

impl Rem for Value {
    type Output = ValueResult;

    fn rem(self, right: Self) -> ValueResult {
        meter::work(1);
        let by_zero = right.is_int() && right.as_isize() == Some(0);
        match (self.val, right.val) {
            (left @ Val::Num(_), right @ Val::Num(_)) if by_zero => mismatch(left, Math::Rem, right),
            (Val::Num(left), Val::Num(right)) => number(left % right),
            (left, right) => mismatch(left, Math::Rem, right),
        }
    }
}

impl Neg for Value {
    type Output = ValueResult;

    fn neg(self) -> ValueResult {
        match self.val {
            Val::Num(value) => number(-value),
            _ => Err(Error::typ(self, "number")),
        }
    }
}

/// The interpreter's own result for two strings, which cannot fail for strings.
fn joined(result: jaq_json::ValR) -> ValueResult {
    result.map(Value::scalar).map_err(|_| Error::str("cannot join strings"))
}

fn mismatch(left: Val, operation: Math, right: Val) -> ValueResult {
    Err(Error::math(Value::scalar(left), operation, Value::scalar(right)))
}
