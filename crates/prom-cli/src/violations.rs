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

fn one(violation: &ViolationView) -> String {
    let place = if violation.pointer.is_empty() { "the whole schema" } else { &violation.pointer };
    let against = violation.against_version.map_or_else(String::new, |version| format!(", against version {version}"));
    let mut text = format!(
        "  {}: {} (rule {}{against})\n    fix: {}",
        printable(place),
        printable(&violation.message),
        violation.rule,
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
