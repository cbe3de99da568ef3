//! The functions that programs may call: the interpreter's libraries without everything that reaches outside the
//! program, and the JSON functions on metered values.

use jaq_core::load::parse::Def;
use jaq_core::native::{Filter, Fun, bome, run, unary, v};
use jaq_core::{DataT, RunPtr};
use jaq_json::Val;

use crate::interpreter::Metered;
use crate::regex::{Parts, search};
use crate::value::{Error, Value, ValueResult, compare, has, indices};
use crate::{meter, text};

/// Left out. They read the environment or the machine's time zone, write to the log, end the process, or run as long as
/// their argument says (`jn`, `yn`).
const OUTSIDE: [&str; 14] = [
    "env",
    "input",
    "inputs",
    "halt",
    "halt_error",
    "debug",
    "debug_empty",
    "stderr",
    "stderr_empty",
    "localtime",
    "strflocaltime",
    "jn",
    "yn",
    "tobytes",
];

/// Replaced by metered ones.
const REGEX: [&str; 3] = ["matches", "split_matches", "split_"];

/// Definitions written in jq.
pub(crate) fn definitions() -> impl Iterator<Item = Def<&'static str>> {
    let libraries = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    libraries.filter(|def| !OUTSIDE.contains(&def.name))
}

/// Functions written in Rust.
pub(crate) fn functions() -> impl Iterator<Item = Fun<Metered>> {
    let libraries = jaq_core::funs::<Metered>().chain(jaq_std::funs::<Metered>());
    let libraries = libraries.filter(|(name, _, _)| !OUTSIDE.contains(name) && !REGEX.contains(name));
    libraries.chain(json_functions().into_vec().into_iter().map(run))
}

fn json_functions<D: for<'a> DataT<V<'a> = Value>>() -> Box<[Filter<RunPtr<D>>]> {
    Box::new([
        ("fromjson", v(0), |cv| bome(from_json(&cv.1))),
        ("tojson", v(0), |cv| bome(to_json(&cv.1))),
        ("matches", v(2), |cv| bome(search(Parts::Matches, cv))),
        ("split_matches", v(2), |cv| bome(search(Parts::Both, cv))),
        ("split_", v(2), |cv| bome(search(Parts::Between, cv))),
        ("length", v(0), |cv| bome(length(cv.1))),
        ("contains", v(1), |cv| unary(cv, |value, part| contains(&value, &part))),
        ("has", v(1), |cv| unary(cv, |value, index| has(value, &index))),
        ("indices", v(1), |cv| unary(cv, |value, part| indices(&value, &part))),
        ("bsearch", v(1), |cv| unary(cv, |value, wanted| binary_search(value, &wanted))),
    ])
}

fn from_json(value: &Value) -> ValueResult {
    let Val::TStr(text) = &value.val else {
        return Err(Error::typ(value.clone(), "string"));
    };
    // A byte of text can become an element of an array.
    meter::build(text.len() * std::mem::size_of::<Val>());
    text::read(text).map_err(|error| Error::str(format_args!("cannot parse {value} as JSON: {error}")))
}

fn to_json(value: &Value) -> ValueResult {
    match text::write_inside(&value.val) {
        Ok(text) => Ok(Value::string(text)),
        Err(_) => Err(Error::str("a value that has no JSON text")),
    }
}

fn length(value: Value) -> ValueResult {
    match &value.val {
        Val::Null => Ok(0usize.into()),
        Val::Num(_) if value < Value::from(0usize) => -value,
        Val::Num(_) => Ok(value),
        Val::TStr(text) | Val::BStr(text) => {
            meter::work(text.len() / 64);
            Ok(String::from_utf8_lossy(text).chars().count().into())
        }
        Val::Arr(elements) => Ok(elements.len().into()),
        Val::Obj(entries) => Ok(entries.len().into()),
        Val::Bool(_) => Err(Error::str(format_args!("{value} has no length"))),
    }
}

fn contains(value: &Value, part: &Value) -> ValueResult {
    Ok(contains_val(&value.val, &part.val).into())
}

fn contains_val(val: &Val, part: &Val) -> bool {
    meter::work(1);
    match (val, part) {
        (Val::TStr(text), Val::TStr(part)) => {
            meter::work(text.len() / 64);
            String::from_utf8_lossy(text).contains(&*String::from_utf8_lossy(part))
        }
        (Val::Arr(vals), Val::Arr(parts)) => parts.iter().all(|part| vals.iter().any(|val| contains_val(val, part))),
        (Val::Obj(vals), Val::Obj(parts)) => {
            let held = |(key, part): (&Val, &Val)| vals.get(key).is_some_and(|val| contains_val(val, part));
            parts.iter().all(held)
        }
        (val, part) => compare::equal(val, part),
    }
}

/// Where `wanted` is in a sorted array, or `-1 - i` where it would be put at `i`.
fn binary_search(value: Value, wanted: &Value) -> ValueResult {
    let Val::Arr(elements) = &value.val else {
        return Err(Error::typ(value, "array"));
    };
    let found = elements.binary_search_by(|val| compare::order(val, &wanted.val));
    Ok(match found {
        Ok(at) => at.into(),
        Err(at) => (-1 - at as isize).into(),
    })
}
