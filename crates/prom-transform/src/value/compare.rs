//! Order and equality of values, as jq defines them, charged by the element.
//!
//! A small value can expand into an exponentially large tree because parts are shared, so comparing must be able to stop.

use std::cmp::Ordering;

use jaq_json::{Map, Val};

use super::Value;
use crate::meter;

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        equal(&self.val, &other.val)
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.val, &other.val)
    }
}

pub(crate) fn equal(left: &Val, right: &Val) -> bool {
    meter::work(1);
    match (left, right) {
        (Val::Arr(left), Val::Arr(right)) => equal_elements(left, right),
        (Val::Obj(left), Val::Obj(right)) => {
            let same = |(key, left): (&Val, &Val)| right.get(key).is_some_and(|right| equal(left, right));
            left.len() == right.len() && left.iter().all(same)
        }
        (Val::Arr(_) | Val::Obj(_), _) | (_, Val::Arr(_) | Val::Obj(_)) => false,
        (left, right) => left == right,
    }
}

pub(crate) fn equal_elements(left: &[Val], right: &[Val]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
}

pub(crate) fn order(left: &Val, right: &Val) -> Ordering {
    meter::work(1);
    match (left, right) {
        (Val::Arr(left), Val::Arr(right)) => order_all(left.iter(), right.iter()),
        (Val::Obj(left), Val::Obj(right)) => {
            let (left, right) = (sorted_entries(left), sorted_entries(right));
            let keys = order_all(left.iter().map(|entry| entry.0), right.iter().map(|entry| entry.0));
            keys.then_with(|| order_all(left.iter().map(|entry| entry.1), right.iter().map(|entry| entry.1)))
        }
        // Different kinds, or scalars: no recursion.
        (left, right) => left.cmp(right),
    }
}

fn order_all<'v>(left: impl Iterator<Item = &'v Val>, right: impl Iterator<Item = &'v Val>) -> Ordering {
    let (mut left, mut right) = (left, right);
    loop {
        match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(left), Some(right)) => match order(left, right) {
                Ordering::Equal => {}
                decided => return decided,
            },
        }
    }
}

/// Keys are strings, so sorting by them does not recurse.
fn sorted_entries(entries: &Map) -> Vec<(&Val, &Val)> {
    meter::work(entries.len());
    let mut sorted: Vec<_> = entries.iter().collect();
    sorted.sort_unstable_by_key(|(key, _)| *key);
    sorted
}
