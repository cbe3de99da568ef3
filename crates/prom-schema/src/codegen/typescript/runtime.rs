//! The functions that validators call. A file gets those that it needs: unused code is an error under some settings.

use serde_json::Value;

use crate::draft::Draft;

/// Name and text. Each may use those after it.
const FUNCTIONS: [(&str, &str); 18] = [
    (
        "_any",
        "function _any(value: unknown): Problem | undefined {
  void value;
  return undefined;
}",
    ),
    (
        "_null",
        "function _null(value: unknown): Problem | undefined {
  return value === null ? undefined : _wrong(\"type\", \"must be null\");
}",
    ),
    (
        "_boolean",
        "function _boolean(value: unknown): Problem | undefined {
  return typeof value === \"boolean\" ? undefined : _wrong(\"type\", \"must be boolean\");
}",
    ),
    (
        "_integer",
        "function _integer(value: unknown): Problem | undefined {
  return Number.isInteger(value) ? undefined : _wrong(\"type\", \"must be integer\");
}",
    ),
    (
        "_number",
        "function _number(value: unknown): Problem | undefined {
  return Number.isFinite(value) ? undefined : _wrong(\"type\", \"must be number\");
}",
    ),
    (
        "_string",
        "function _string(value: unknown): Problem | undefined {
  return typeof value === \"string\" ? undefined : _wrong(\"type\", \"must be string\");
}",
    ),
    (
        "_array",
        "function _array(value: unknown): Problem | undefined {
  return Array.isArray(value) ? undefined : _wrong(\"type\", \"must be array\");
}",
    ),
    (
        "_object",
        "function _object(value: unknown): Problem | undefined {
  return _isObject(value) ? undefined : _wrong(\"type\", \"must be object\");
}",
    ),
    (
        "_unique",
        "function _unique(items: readonly unknown[]): boolean {
  return new Set(items.map(_canonical)).size === items.length;
}",
    ),
    (
        "_canonical",
        "/** Equal texts for equal JSON values. */
function _canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(_canonical).join()}]`;
  if (!_isObject(value)) return JSON.stringify(value) ?? \"null\";
  const fields = _keys(value).sort().map((key) => `${JSON.stringify(key)}:${_canonical(value[key])}`);
  return `{${fields.join()}}`;
}",
    ),
    (
        "_isMultiple",
        "/** In decimal, as the numbers are written: 0.3 is a multiple of 0.1. */
function _isMultiple(value: number, of: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(of)) return value % of === 0;
  const [left, right] = [_decimal(value), _decimal(of)];
  const exponent = Math.min(left.exponent, right.exponent);
  const scale = (part: { digits: bigint; exponent: number }): bigint =>
    part.digits * BigInt(10) ** BigInt(part.exponent - exponent);
  return scale(left) % scale(right) === BigInt(0);
}",
    ),
    (
        "_decimal",
        "function _decimal(value: number): { digits: bigint; exponent: number } {
  const [mantissa = \"0\", exponent = \"0\"] = value.toExponential().split(\"e\");
  const [whole = \"0\", fraction = \"\"] = mantissa.split(\".\");
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}",
    ),
    (
        "_length",
        "/** In code points, as JSON Schema counts. */
function _length(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}",
    ),
    (
        "_below",
        "function _below(part: string | number, problem: Problem): Problem {
  const segment = String(part).replace(/~/g, \"~0\").replace(/\\//g, \"~1\");
  return { ...problem, pointer: `/${segment}${problem.pointer}` };
}",
    ),
    (
        "_wrong",
        "function _wrong(keyword: string, message: string): Problem {
  return { pointer: \"\", keyword, message };
}",
    ),
    (
        "_keys",
        "function _keys(value: { [key: string]: unknown }): string[] {
  return Object.keys(value).filter((key) => value[key] !== undefined);
}",
    ),
    (
        "_has",
        "function _has(value: { [key: string]: unknown }, key: string): boolean {
  return Object.prototype.hasOwnProperty.call(value, key) && value[key] !== undefined;
}",
    ),
    (
        "_isObject",
        "function _isObject(value: unknown): value is { [key: string]: unknown } {
  return typeof value === \"object\" && value !== null && !Array.isArray(value);
}",
    ),
];

const PROBLEM: &str = "
/** What is wrong with a value. */
export interface Problem {
  /** JSON pointer to the part that is wrong; empty for the whole value. */
  readonly pointer: string;
  /** The keyword of JSON Schema that refuses it. */
  readonly keyword: string;
  readonly message: string;
}
";

/// Keywords that judge nothing.
const DESCRIBING: [&str; 17] = [
    "$schema",
    "$id",
    "$anchor",
    "$comment",
    "$defs",
    "$vocabulary",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "id",
    "type",
];

/// The function that is enough for a schema which only names a type, or nothing.
pub(super) fn judges_alone(schema: &Value, draft: Draft) -> Option<&'static str> {
    let Value::Object(map) = schema else {
        return (*schema == Value::Bool(true)).then_some("_any");
    };
    let content = ["contentEncoding", "contentMediaType", "contentSchema"];
    let describes =
        |keyword: &str| DESCRIBING.contains(&keyword) || (draft != Draft::Draft7 && content.contains(&keyword));
    if !map.keys().all(|keyword| describes(keyword)) {
        return None;
    }
    match map.get("type") {
        None => Some("_any"),
        Some(kind) => Some(match kind.as_str()? {
            "null" => "_null",
            "boolean" => "_boolean",
            "integer" => "_integer",
            "number" => "_number",
            "string" => "_string",
            "array" => "_array",
            "object" => "_object",
            _ => return None,
        }),
    }
}

/// The functions that this code calls, and those that they call.
pub(super) fn needed_by(code: &str) -> String {
    let mut needed: Vec<&str> = Vec::new();
    for (name, text) in FUNCTIONS {
        if uses(code, name) || needed.iter().any(|text| uses(text, name)) {
            needed.push(text);
        }
    }
    let functions: String = needed.iter().rev().map(|text| format!("\n{text}\n")).collect();
    format!("{PROBLEM}{functions}")
}

/// Whether a name occurs as a whole word.
fn uses(code: &str, name: &str) -> bool {
    let is_inside = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    code.match_indices(name)
        .any(|(at, _)| !is_inside(code[..at].chars().next_back()) && !is_inside(code[at + name.len()..].chars().next()))
}
