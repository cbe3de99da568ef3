//! Header names with the form in which they are kept, values, and what is refused of both.

use prom_types::{Headers, limits};
use serde_json::{Value, json};

pub fn text() -> String {
    let names = names();
    let kept = |name: &String| kept_as(name).map(|kept| json!([name, kept]));
    let valid_names: Vec<Value> = names.iter().filter_map(kept).collect();
    let invalid_names = names.iter().filter(|name| kept_as(name).is_none()).cloned();
    let (valid_values, invalid_values): (Vec<String>, Vec<String>) =
        sample_values().into_iter().partition(|value| Headers::default().insert("x-a", value.as_str()).is_ok());
    super::object(&[
        ("valid_names", valid_names),
        ("invalid_names", super::values(invalid_names)),
        ("valid_values", super::values(valid_values)),
        ("invalid_values", super::values(invalid_values)),
    ])
}

fn kept_as(name: &str) -> Option<String> {
    let mut headers = Headers::default();
    headers.insert(name, "v").ok()?;
    headers.iter().next().map(|(kept, _)| kept.to_owned())
}

fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "x-a",
        "x-0",
        "x--",
        "x-schema-version",
        "x-upcasted-from",
        "content-type",
        "Content-Type",
        "CONTENT-TYPE",
        "traceparent",
        "tracestate",
        "",
        "x",
        "x-",
        "X-a",
        "x-A",
        "x-ä",
        "x_a",
        "x-a_b",
        "x-a.b",
        "x-a b",
        " x-a",
        "x-a ",
        "y-a",
        "a",
        "Traceparent",
        "TraceState",
        "authorization",
        "content-length",
        "content_type",
        "x-a\n",
        "x-🔥",
    ]
    .map(str::to_owned)
    .into();
    for length in [limits::HEADER_NAME_BYTES, limits::HEADER_NAME_BYTES + 1] {
        names.push(format!("x-{}", "a".repeat(length - 2)));
    }
    names
}

fn sample_values() -> Vec<String> {
    [
        "",
        "1",
        "application/json; charset=utf-8",
        "ü🔥",
        "a\tb",
        " ",
        "a\nb",
        "a\rb",
        "a\u{0}b",
        "\u{7f}",
        "\u{85}",
        "\u{1b}[0m",
    ]
    .map(str::to_owned)
    .into()
}
