//! The TypeScript types of the HTTP contract, made from the schemas in `protocol/openapi.json`. Types only: what a hub
//! takes and answers, for programs that ask it over HTTP.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use crate::generate::Made;

const SOURCE: &str = "protocol/openapi.json";

const HEAD: &str =
    "/** The shapes of the HTTP API. Made from `protocol/openapi.json` by `cargo xtask gen`; not edited by hand. */\n";
/// The width of a line in the client's sources.
const WIDTH: usize = 120;

pub fn make(root: &Path) -> Result<Vec<Made>> {
    let source = std::fs::read_to_string(root.join(SOURCE)).context(SOURCE)?;
    let document: Value = serde_json::from_str(&source).context(SOURCE)?;
    Ok(vec![("sdk/ts/src/http.ts", text(&document)?)])
}

fn text(document: &Value) -> Result<String> {
    let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
    let schemas = schemas.with_context(|| format!("{SOURCE} has no components/schemas"))?;
    let mut names: Vec<&String> = schemas.keys().collect();
    names.sort_unstable();
    let mut text = String::from(HEAD);
    for name in names {
        text.push('\n');
        declaration(&mut text, name, &schemas[name]).with_context(|| format!("components/schemas/{name}"))?;
    }
    Ok(text)
}

fn declaration(text: &mut String, name: &str, schema: &Value) -> Result<()> {
    comment(text, "", schema);
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        writeln!(text, "export interface {name} {{")?;
        for member in members(schema, properties)? {
            comment(text, "  ", member.schema);
            writeln!(text, "  {}", member.text)?;
        }
        text.push_str("}\n");
    } else {
        writeln!(text, "export type {name} = {};", type_of(schema)?)?;
    }
    Ok(())
}

struct Member<'a> {
    schema: &'a Value,
    /// `readonly name?: Type;`
    text: String,
}

fn members<'a>(schema: &Value, properties: &'a Map<String, Value>) -> Result<Vec<Member<'a>>> {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut names: Vec<&String> = properties.keys().collect();
    names.sort_unstable();
    let member = |name: &String| -> Result<Member<'a>> {
        let schema = &properties[name];
        let optional = if required.contains(&name.as_str()) { "" } else { "?" };
        let text = format!("readonly {name}{optional}: {};", type_of(schema).context(name.clone())?);
        Ok(Member { schema, text })
    };
    names.into_iter().map(member).collect()
}

fn type_of(schema: &Value) -> Result<String> {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return Ok(reference.rsplit('/').next().unwrap_or_default().to_owned());
    }
    for (keyword, between) in [("oneOf", " | "), ("anyOf", " | "), ("allOf", " & ")] {
        if let Some(parts) = schema.get(keyword).and_then(Value::as_array) {
            let parts: Vec<String> = parts.iter().map(type_of).collect::<Result<_>>()?;
            return Ok(joined(parts, between));
        }
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return Ok(words.iter().map(Value::to_string).collect::<Vec<_>>().join(" | "));
    }
    match schema.get("type") {
        None => Ok("unknown".to_owned()),
        Some(Value::String(kind)) => of_kind(kind, schema),
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str).map(|kind| of_kind(kind, schema));
            Ok(joined(kinds.collect::<Result<_>>()?, " | "))
        }
        Some(other) => bail!("the type {other} is not known here"),
    }
}

fn of_kind(kind: &str, schema: &Value) -> Result<String> {
    Ok(match kind {
        "string" | "boolean" | "null" => kind.to_owned(),
        "integer" | "number" => "number".to_owned(),
        "array" => {
            let item = type_of(schema.get("items").unwrap_or(&Value::Null))?;
            if item.contains(' ') { format!("readonly ({item})[]") } else { format!("readonly {item}[]") }
        }
        "object" => match (schema.get("properties").and_then(Value::as_object), schema.get("additionalProperties")) {
            (Some(properties), _) => {
                let members: Vec<String> = members(schema, properties)?.into_iter().map(|member| member.text).collect();
                format!("{{ {} }}", members.join(" ").trim_end_matches(';'))
            }
            (None, Some(values)) => format!("Readonly<Record<string, {}>>", type_of(values)?),
            (None, None) => "Readonly<Record<string, unknown>>".to_owned(),
        },
        other => bail!("the type {other:?} is not known here"),
    })
}

/// Each once, `null` last.
fn joined(mut parts: Vec<String>, between: &str) -> String {
    parts.sort_by_key(|part| part == "null");
    parts.dedup();
    parts.join(between)
}

/// Where a value may be `null`, the description stands beside its other type.
fn description(schema: &Value) -> Option<&str> {
    let own = schema.get("description").and_then(Value::as_str);
    let of_part = || schema.get("oneOf")?.as_array()?.iter().find_map(|part| part.get("description")?.as_str());
    own.or_else(of_part)
}

/// The description of a schema as a comment, on one line where it fits.
fn comment(text: &mut String, indent: &str, schema: &Value) {
    let description = description(schema).unwrap_or_default().replace("*/", "*\\/");
    let words: Vec<&str> = description.split_whitespace().collect();
    if words.is_empty() {
        return;
    }
    let line = format!("{indent}/** {} */", words.join(" "));
    if line.chars().count() <= WIDTH {
        text.push_str(&line);
        text.push('\n');
        return;
    }
    text.push_str(&format!("{indent}/**\n"));
    let mut line = format!("{indent} *");
    for word in words {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = format!("{indent} *");
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&format!("{line}\n{indent} */\n"));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn made(schemas: Value) -> String {
        let text = text(&json!({"components": {"schemas": schemas}})).unwrap();
        text.strip_prefix(HEAD).unwrap().trim().to_owned()
    }

    #[test]
    fn an_object_is_an_interface_with_its_descriptions() {
        let group = json!({
            "type": "object",
            "description": "A group\nand what it reads.",
            "required": ["group", "topics", "filter"],
            "properties": {
                "group": {"$ref": "#/components/schemas/GroupName", "description": "Its name."},
                "topics": {"type": "array", "items": {"type": "string"}},
                "filter": {"type": ["string", "null"]},
                "served_by": {"type": "string"},
                "backoff": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Backoff", "description": "The waits."}]},
            },
        });
        let expected = "\
/** A group and what it reads. */
export interface Group {
  /** The waits. */
  readonly backoff?: Backoff | null;
  readonly filter: string | null;
  /** Its name. */
  readonly group: GroupName;
  readonly served_by?: string;
  readonly topics: readonly string[];
}";
        assert_eq!(made(json!({ "Group": group })), expected);
    }

    #[test]
    fn everything_else_is_a_type() {
        for (schema, expected) in [
            (json!({"type": "string", "format": "uuid"}), "string"),
            (json!({"type": "string", "enum": ["a", "b"]}), "\"a\" | \"b\""),
            (json!({"type": "integer", "minimum": 0}), "number"),
            (json!({}), "unknown"),
            (json!({"type": "object", "additionalProperties": {"type": "string"}}), "Readonly<Record<string, string>>"),
            (
                json!({"type": "array", "items": {"oneOf": [{"type": "string"}, {"type": "boolean"}]}}),
                "readonly (string | boolean)[]",
            ),
            (
                json!({"oneOf": [{"$ref": "#/a/One"}, {"type": "object", "required": ["n"], "properties": {"n": {"type": "number"}}}]}),
                "One | { readonly n: number }",
            ),
        ] {
            assert_eq!(made(json!({ "A": schema })), format!("export type A = {expected};"));
        }
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_place() {
        let document = json!({"components": {"schemas": {"A": {"type": "quantum"}}}});
        assert!(format!("{:#}", text(&document).unwrap_err()).contains("components/schemas/A"));
    }

    #[test]
    fn long_comments_are_wrapped() {
        let made = made(json!({"A": {"type": "string", "description": "word ".repeat(50)}}));
        assert!(made.lines().count() > 3 && made.lines().all(|line| line.len() <= WIDTH), "{made}");
    }
}
