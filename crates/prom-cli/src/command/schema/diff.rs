//! `prom schema diff`: where two versions differ, and what that means.

use clap::Args;
use prom_protocol::http::schema::{ChangeKind, SchemaChange, SchemaDiff, SchemaDiffQuery, ViolationView};
use prom_types::TopicName;
use serde_json::Value;

use super::known;
use crate::cli::Context;
use crate::command::names;
use crate::exit::CommandResult;
use crate::output::printable;
use crate::violations;

/// Show where two versions differ, and whether documents of one are valid under the other
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom schema diff orders.placed 1 2
  prom schema diff orders.placed 2 3 --json")]
pub struct Diff {
    /// The topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// The earlier version
    from: u32,
    /// The later version
    to: u32,
}

/// Longest value that is shown; `--json` has it all.
const SHOWN_CHARS: usize = 100;

impl Diff {
    pub async fn run(self, context: &Context) -> CommandResult {
        let query = SchemaDiffQuery { from: self.from, to: self.to };
        let answer = context.hub()?.get(&["topics", &self.topic, "schema", "diff"], &query).await;
        let answer = answer.map_err(|failure| failure.fix_no(known::list_of(&self.topic)))?;
        context.show(&answer, |diff| context.output.text(&in_words(&diff)))
    }
}

fn in_words(diff: &SchemaDiff) -> String {
    let mut text = String::new();
    if diff.changes.is_empty() {
        text.push_str("the schemas are the same\n");
    }
    for change in &diff.changes {
        text.push_str(&line(change));
    }
    let (from, to) = (diff.from, diff.to);
    text.push_str(&verdict(&format!("documents of version {from} are valid under version {to}"), &diff.backward));
    text.push_str(&verdict(&format!("documents of version {to} are valid under version {from}"), &diff.forward));
    text
}

fn line(change: &SchemaChange) -> String {
    let place = if change.pointer.is_empty() { "the whole schema" } else { &change.pointer };
    let place = printable(place);
    let value = |value: &Option<Value>| short(&value.as_ref().map(Value::to_string).unwrap_or_default());
    match change.change {
        ChangeKind::Added => format!("+ {place}: {}\n", value(&change.after)),
        ChangeKind::Removed => format!("- {place}: {}\n", value(&change.before)),
        ChangeKind::Changed => format!("~ {place}: {} → {}\n", value(&change.before), value(&change.after)),
    }
}

fn short(text: &str) -> String {
    let text = printable(text);
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn verdict(claim: &str, against: &[ViolationView]) -> String {
    match against {
        [] => format!("{claim}: yes\n"),
        against => format!("{claim}: no\n{}\n", violations::in_words(against)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_read_line_by_line() {
        let text = r#"{"topic":"a","from":1,"to":2,"changes":[{"pointer":"/properties/b","change":"added","after":{}},
            {"pointer":"/properties/a/type","change":"changed","before":"integer","after":"number"},
            {"pointer":"/title","change":"removed","before":"A"}],"backward":[],"forward":[{"pointer":"/properties/a/type",
            "rule":"type-narrowed","message":"a number is refused","fix":"keep integer","direction":"forward","example":{"a":0.5}}]}"#;
        insta::assert_snapshot!(in_words(&serde_json::from_str(text).unwrap()), @r#"
        + /properties/b: {}
        ~ /properties/a/type: "integer" → "number"
        - /title: "A"
        documents of version 1 are valid under version 2: yes
        documents of version 2 are valid under version 1: no
          /properties/a/type: a number is refused (rule type-narrowed, forward: readers of the version before cannot read all new events)
            fix: keep integer
            example: {"a":0.5}
          more: prom schema explain type-narrowed
        "#);
    }
}
