//! Why a schema is incompatible, for people: each violation with its place, its rule, a way out and an
//! example, and the command that explains the rule.

use std::collections::BTreeSet;

use prom_protocol::http::schema::ViolationView;

use crate::output::printable;

/// Longest example that is shown.
const EXAMPLE_CHARS: usize = 300;

/// Indented, without a line break at the end.
pub fn in_words(violations: &[ViolationView]) -> String {
    let mut text = violations.iter().map(one).collect::<Vec<_>>().join("\n");
    let rules: BTreeSet<&str> = violations.iter().map(|violation| violation.rule.as_str()).collect();
    for rule in rules {
        text.push_str(&format!("\n  more: prom schema explain {}", printable(rule)));
    }
    text
}

/// Which of the two questions of `full` has the answer no.
fn direction(violation: &ViolationView) -> String {
    let version = match violation.against_version {
        Some(version) => format!("version {version}"),
        None => "the version before".to_owned(),
    };
    match violation.direction.as_str() {
        "forward" => format!("forward: readers of {version} cannot read all new events"),
        _ => format!("backward: new readers cannot read all events of {version}"),
    }
}

fn one(violation: &ViolationView) -> String {
    let place = if violation.pointer.is_empty() { "the whole schema" } else { &violation.pointer };
    let mut text = format!(
        "  {}: {} (rule {}, {})\n    fix: {}",
        printable(place),
        printable(&violation.message),
        printable(&violation.rule),
        direction(violation),
        printable(&violation.fix)
    );
    if let Some(example) = &violation.example {
        let example = printable(&example.to_string());
        let shown: String = example.chars().take(EXAMPLE_CHARS).collect();
        let more = if shown.len() < example.len() { "…" } else { "" };
        text.push_str(&format!("\n    example: {shown}{more}"));
    }
    text
}
