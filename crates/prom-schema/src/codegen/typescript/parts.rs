//! The checks of keywords that look into arrays and objects.

use serde_json::{Map, Value};

use super::super::model::whole;
use super::super::text;
use super::keywords::{counts, refuse_unless, regular_expression};
use super::validator::FunctionWriter;
use crate::draft::Draft;

type Keywords = Map<String, Value>;

/// Ends the function with what another one finds.
pub(super) fn pass_on(function: &str, value: &str) -> Vec<String> {
    scope(found(&format!("{function}({value})"), "found"))
}

/// A scope of its own, for its constants.
pub(super) fn scope(lines: Vec<String>) -> Vec<String> {
    let inner = lines.into_iter().map(|line| format!("  {line}"));
    ["{".to_owned()].into_iter().chain(inner).chain(["}".to_owned()]).collect()
}

/// Ends the function if the expression finds a problem.
pub(super) fn found(expression: &str, answer: &str) -> Vec<String> {
    vec![format!("const found = {expression};"), format!("if (found !== undefined) return {answer};")]
}

fn below(function: &str, value: &str, part: &str) -> Vec<String> {
    found(&format!("{function}({value})"), &format!("_below({part}, found)"))
}

fn block(head: &str, lines: Vec<String>) -> Vec<String> {
    let inner = lines.into_iter().map(|line| format!("  {line}"));
    [format!("{head} {{")].into_iter().chain(inner).chain(["}".to_owned()]).collect()
}

pub(super) fn arrays<'s>(writer: &mut FunctionWriter<'_, 's>, map: &'s Keywords) -> Vec<String> {
    let mut lines = counts(map, "value.length", ("minItems", "maxItems"), "items");
    if map.get("uniqueItems") == Some(&Value::Bool(true)) {
        lines.push(refuse_unless("_unique(value)", "uniqueItems", "must not have two equal items"));
    }
    let (prefix, rest) = writer.document.items(map);
    for (at, item) in prefix.iter().enumerate() {
        let check = below(&writer.function(item), &format!("value[{at}]"), &at.to_string());
        lines.extend(block(&format!("if (value.length > {at})"), check));
    }
    if let Some(rest) = rest.filter(|rest| **rest != Value::Bool(true)) {
        let start = prefix.len();
        let check = below(&writer.function(rest), "value[at]", "at");
        lines.extend(block(&format!("for (let at = {start}; at < value.length; at += 1)"), check));
    }
    lines.extend(contains(writer, map));
    lines
}

fn contains<'s>(writer: &mut FunctionWriter<'_, 's>, map: &'s Keywords) -> Vec<String> {
    let Some(schema) = map.get("contains") else {
        return Vec::new();
    };
    let bound = |keyword: &str| map.get(keyword).and_then(whole).filter(|_| writer.document.draft != Draft::Draft7);
    let (least, most) = (bound("minContains").unwrap_or(1), bound("maxContains"));
    let function = writer.function(schema);
    let mut lines =
        vec![format!("const matching = value.filter((item: unknown) => {function}(item) === undefined).length;")];
    let message = format!("must contain at least {least} matching items");
    lines.push(refuse_unless(&format!("matching >= {least}"), "contains", &message));
    if let Some(most) = most {
        let message = format!("must contain at most {most} matching items");
        lines.push(refuse_unless(&format!("matching <= {most}"), "maxContains", &message));
    }
    lines
}

pub(super) fn objects<'s>(writer: &mut FunctionWriter<'_, 's>, schema: &Value, map: &'s Keywords) -> Vec<String> {
    let mut lines = Vec::new();
    let required = map.get("required").and_then(Value::as_array).into_iter().flatten();
    let required: Vec<&str> = required.filter_map(Value::as_str).collect();
    for name in &required {
        lines.push(refuse_unless(&has(name), "required", &format!("must have {name}")));
    }
    for (name, below_it) in sorted(map, "properties") {
        let name_text = text::json_text(name);
        let check = below(&writer.function(below_it), &format!("value[{name_text}]"), &name_text);
        let is_there = required.contains(&name.as_str());
        lines.extend(if is_there { scope(check) } else { block(&format!("if ({})", has(name)), check) });
    }
    lines.extend(counts(map, "_keys(value).length", ("minProperties", "maxProperties"), "properties"));
    let each = each_property(writer, schema, map);
    if !each.is_empty() {
        lines.extend(block("for (const key of _keys(value))", each));
    }
    lines.extend(dependencies(writer, map));
    lines
}

/// Checks that depend on the names that are there.
fn each_property<'s>(writer: &mut FunctionWriter<'_, 's>, schema: &Value, map: &'s Keywords) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(names) = map.get("propertyNames") {
        lines.extend(scope(below(&writer.function(names), "key", "key")));
    }
    let additional = map.get("additionalProperties").filter(|rest| **rest != Value::Bool(true));
    let mut tests = Vec::new();
    let names: Vec<Value> = sorted(map, "properties").into_iter().map(|(name, _)| Value::from(name.as_str())).collect();
    if additional.is_some() && !names.is_empty() {
        let set = format!("new Set({})", text::json(&Value::Array(names)));
        tests.push(format!("!{}.has(key)", writer.constant("names", schema, "ReadonlySet<string>", &set)));
    }
    for (given, below_it) in sorted(map, "patternProperties") {
        let Some(expression) = regular_expression(writer, schema, "patternProperties", given) else {
            writer.leave_out(schema, "patternProperties", "JavaScript does not know one of the regular expressions");
            return lines;
        };
        let check = below(&writer.function(below_it), "value[key]", "key");
        lines.extend(block(&format!("if ({expression}.test(key))"), check));
        tests.push(format!("!{expression}.test(key)"));
    }
    if let Some(additional) = additional {
        let check = below(&writer.function(additional), "value[key]", "key");
        lines.extend(if tests.is_empty() {
            scope(check)
        } else {
            block(&format!("if ({})", tests.join(" && ")), check)
        });
    }
    lines
}

/// `dependentRequired`, `dependentSchemas`, and `dependencies`, which is either.
fn dependencies<'s>(writer: &mut FunctionWriter<'_, 's>, map: &'s Keywords) -> Vec<String> {
    let mut lines = Vec::new();
    for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
        if keyword != "dependencies" && writer.document.draft == Draft::Draft7 {
            continue;
        }
        for (name, demanded) in sorted(map, keyword) {
            let checks = match demanded {
                Value::Array(names) => names
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|wanted| {
                        refuse_unless(&has(wanted), keyword, &format!("must have {wanted}, as it has {name}"))
                    })
                    .collect(),
                schema => pass_on(&writer.function(schema), "value"),
            };
            lines.extend(block(&format!("if ({})", has(name)), checks));
        }
    }
    lines
}

fn has(name: &str) -> String {
    format!("_has(value, {})", text::json_text(name))
}

/// The entries of a keyword by name: the order of a schema's keys has no meaning.
fn sorted<'s>(map: &'s Keywords, keyword: &str) -> Vec<(&'s String, &'s Value)> {
    let mut entries: Vec<(&String, &Value)> =
        map.get(keyword).and_then(Value::as_object).into_iter().flatten().collect();
    entries.sort_by_key(|(name, _)| *name);
    entries
}
