//! The checks of each keyword, as lines of a function over `value`.
//!
//! A keyword that judges one kind of value stands behind a test of that kind, as JSON Schema has it.

use serde_json::{Map, Number, Value};

use super::super::model::whole;
use super::super::text;
use super::parts;
use super::pattern;
use super::validator::FunctionWriter;
use crate::draft::Draft;

type Keywords = Map<String, Value>;

/// A message that lists values is at most this long.
const LISTED: usize = 120;

pub(super) fn kind(map: &Keywords) -> Vec<String> {
    let kinds: Vec<&str> = match map.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return Vec::new(),
    };
    let tests: Vec<&str> = kinds.iter().filter_map(|kind| test_of(kind)).collect();
    let names: Vec<&str> = kinds.iter().copied().filter(|kind| test_of(kind).is_some()).collect();
    if tests.is_empty() {
        return Vec::new();
    }
    vec![refuse_unless(&tests.join(" || "), "type", &format!("must be {}", names.join(" or ")))]
}

fn test_of(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "null" => "value === null",
        "boolean" => "typeof value === \"boolean\"",
        "integer" => "Number.isInteger(value)",
        "number" => "Number.isFinite(value)",
        "string" => "typeof value === \"string\"",
        "array" => "Array.isArray(value)",
        "object" => "_isObject(value)",
        _ => return None,
    })
}

pub(super) fn literals(writer: &mut FunctionWriter<'_, '_>, schema: &Value, map: &Keywords) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(value) = map.get("const") {
        let message = format!("must be {}", excerpt(value));
        let test = if is_scalar(value) {
            format!("value === {}", text::json(value))
        } else {
            let parsed = parse(value);
            let name = writer.constant("const", schema, "string", &format!("_canonical({parsed})"));
            format!("_canonical(value) === {name}")
        };
        lines.push(refuse_unless(&test, "const", &message));
    }
    if let Some(listed @ Value::Array(values)) = map.get("enum") {
        let message = format!("must be one of {}", excerpt(listed));
        let test = if values.iter().all(is_scalar) {
            let set = format!("new Set<unknown>({})", text::json(listed));
            let name = writer.constant("enum", schema, "ReadonlySet<unknown>", &set);
            format!("{name}.has(value)")
        } else {
            let set = format!("new Set(({} as unknown[]).map(_canonical))", parse(listed));
            let name = writer.constant("enum", schema, "ReadonlySet<string>", &set);
            format!("{name}.has(_canonical(value))")
        };
        lines.push(refuse_unless(&test, "enum", &message));
    }
    lines
}

/// An object literal would give `__proto__` a meaning; parsing does not.
fn parse(value: &Value) -> String {
    format!("JSON.parse({})", text::json_text(&text::json(value)))
}

fn is_scalar(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

fn excerpt(value: &Value) -> String {
    let text = text::json(value);
    if text.len() <= LISTED { text } else { "what the schema lists".to_owned() }
}

pub(super) fn numbers(map: &Keywords) -> Vec<String> {
    let bound = |keyword: &str| map.get(keyword).and_then(as_number);
    let mut lines = Vec::new();
    for (keyword, sign, words) in [
        ("minimum", ">=", "at least"),
        ("maximum", "<=", "at most"),
        ("exclusiveMinimum", ">", "greater than"),
        ("exclusiveMaximum", "<", "less than"),
    ] {
        if let Some(bound) = bound(keyword) {
            lines.push(refuse_unless(&format!("value {sign} {bound}"), keyword, &format!("must be {words} {bound}")));
        }
    }
    if let Some(of) = bound("multipleOf").filter(|of| of.as_f64().is_some_and(|of| of > 0.0)) {
        let message = format!("must be a multiple of {of}");
        lines.push(refuse_unless(&format!("_isMultiple(value, {of})"), "multipleOf", &message));
    }
    lines
}

fn as_number(value: &Value) -> Option<&Number> {
    match value {
        Value::Number(number) => Some(number),
        _ => None,
    }
}

pub(super) fn texts(writer: &mut FunctionWriter<'_, '_>, schema: &Value, map: &Keywords) -> Vec<String> {
    let mut lines = counts(map, "_length(value)", ("minLength", "maxLength"), "characters");
    if let Some(given) = map.get("pattern").and_then(Value::as_str) {
        match regular_expression(writer, schema, "pattern", given) {
            Some(name) => {
                let message = format!("must match {given}");
                lines.push(refuse_unless(&format!("{name}.test(value)"), "pattern", &message));
            }
            None => writer.leave_out(schema, "pattern", "JavaScript does not know this regular expression"),
        }
    }
    lines
}

/// The name of a constant that holds the expression.
pub(super) fn regular_expression(
    writer: &mut FunctionWriter<'_, '_>,
    schema: &Value,
    what: &str,
    given: &str,
) -> Option<String> {
    let source = text::json_text(&pattern::with_unicode(given)?);
    Some(writer.constant(what, schema, "RegExp", &format!("new RegExp({source}, \"u\")")))
}

/// Bounds on a number of parts.
pub(super) fn counts(map: &Keywords, counted: &str, keywords: (&str, &str), noun: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for (keyword, sign, words) in [(keywords.0, ">=", "at least"), (keywords.1, "<=", "at most")] {
        if let Some(count) = map.get(keyword).and_then(whole) {
            let message = format!("must have {words} {count} {noun}");
            lines.push(refuse_unless(&format!("{counted} {sign} {count}"), keyword, &message));
        }
    }
    lines
}

pub(super) fn reference<'s>(writer: &mut FunctionWriter<'_, 's>, schema: &Value, map: &'s Keywords) -> Vec<String> {
    let Some(reference) = map.get("$ref").filter(|reference| reference.is_string()) else {
        return Vec::new();
    };
    match writer.document.resolve(reference) {
        Some(target) => parts::pass_on(&writer.function(target), "value"),
        None => {
            writer.leave_out(schema, "$ref", "it leads out of this document");
            Vec::new()
        }
    }
}

pub(super) fn combinations<'s>(writer: &mut FunctionWriter<'_, 's>, map: &'s Keywords) -> Vec<String> {
    let mut lines = Vec::new();
    for branch in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        lines.extend(parts::pass_on(&writer.function(branch), "value"));
    }
    if let Some(branches) = map.get("anyOf").and_then(Value::as_array) {
        let tests: Vec<String> =
            branches.iter().map(|branch| format!("{}(value) === undefined", writer.function(branch))).collect();
        lines.push(refuse_unless(&tests.join(" || "), "anyOf", "must match one of several schemas"));
    }
    if let Some(branches) = map.get("oneOf").and_then(Value::as_array) {
        let functions: Vec<String> = branches.iter().map(|branch| writer.function(branch)).collect();
        let matching = format!("[{}].filter((check) => check(value) === undefined).length", functions.join(", "));
        lines.push(refuse_unless(&format!("{matching} === 1"), "oneOf", "must match exactly one of several schemas"));
    }
    if let Some(schema) = map.get("not") {
        let test = format!("{}(value) !== undefined", writer.function(schema));
        lines.push(refuse_unless(&test, "not", "must not match a schema"));
    }
    lines.extend(condition(writer, map));
    lines
}

fn condition<'s>(writer: &mut FunctionWriter<'_, 's>, map: &'s Keywords) -> Vec<String> {
    let (Some(condition), true) = (map.get("if"), map.contains_key("then") || map.contains_key("else")) else {
        return Vec::new();
    };
    let mut branch = |keyword: &str| map.get(keyword).map(|schema| format!("{}(value)", writer.function(schema)));
    let then = branch("then").unwrap_or_else(|| "undefined".to_owned());
    let or_else = branch("else").unwrap_or_else(|| "undefined".to_owned());
    let condition = writer.function(condition);
    parts::scope(parts::found(&format!("{condition}(value) === undefined ? {then} : {or_else}"), "found"))
}

/// Names what no line checks.
pub(super) fn leave_out(writer: &mut FunctionWriter<'_, '_>, schema: &Value, map: &Keywords) {
    let is_trivial = |value: &Value| match value {
        Value::Bool(verdict) => *verdict,
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    let draft = writer.document.draft;
    for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
        if draft != Draft::Draft7 && map.get(keyword).is_some_and(|value| !is_trivial(value)) {
            writer.leave_out(schema, keyword, "what other keywords evaluated is not tracked");
        }
    }
    let dynamic = [("$dynamicRef", Draft::Draft202012), ("$recursiveRef", Draft::Draft201909)];
    for (keyword, _) in dynamic.into_iter().filter(|(keyword, since)| *since == draft && map.contains_key(*keyword)) {
        writer.leave_out(schema, keyword, "references that depend on the caller are not followed");
    }
    for keyword in ["contentEncoding", "contentMediaType"] {
        if draft == Draft::Draft7 && map.contains_key(keyword) {
            writer.leave_out(schema, keyword, "content inside of strings is not read");
        }
    }
}

/// A line that ends the function with a problem if the test fails.
pub(super) fn refuse_unless(test: &str, keyword: &str, message: &str) -> String {
    let (keyword, message) = (text::json_text(keyword), text::json_text(message));
    let failed = if test.contains(' ') { format!("!({test})") } else { format!("!{test}") };
    format!("if ({failed}) return _wrong({keyword}, {message});")
}
