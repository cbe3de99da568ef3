//! `prom schema explain`: what a rule of the comparison means, with a pair of schemas that breaks it.
//!
//! The words come from the rule, the document from comparing its pair. `docs/guide/schema-rules.md` is written from the
//! same, and a test compares.

use std::io::IsTerminal;

use clap::Args;
use prom_schema::compat::{CompatRule, Violation};
use serde_json::{Value, json};

use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::output::{Align, Style, Table};

/// Explain a rule that a violation names: what it means, an example, how to make the change safely
#[derive(Debug, Args)]
#[command(after_help = "\
Without a rule, all rules are listed. No hub is needed.

Examples:
  prom schema explain
  prom schema explain required-added
  prom schema explain required-added --json")]
pub struct Explain {
    /// The rule, such as required-added
    #[arg(value_parser = rule)]
    rule: Option<CompatRule>,
}

impl Explain {
    pub fn run(self, context: &Context) -> CommandResult {
        let Some(rule) = self.rule else {
            return list(context);
        };
        if context.output.is_for_machines() {
            return context.output.json(&for_machines(rule)?);
        }
        let section = section(rule)?;
        match std::io::stdout().is_terminal() {
            true => context.output.text(&for_terminal(&section, context.output.style)),
            false => context.output.text(&section),
        }
    }
}

fn rule(text: &str) -> Result<CompatRule, String> {
    CompatRule::named(text).ok_or_else(|| {
        let meant = match nearest(text).as_slice() {
            [] => String::new(),
            names => format!("did you mean {}? ", names.join(" or ")),
        };
        format!("there is no such rule; {meant}`prom schema explain` lists them")
    })
}

/// Rules whose name has the text in it, or else a word of it.
fn nearest(text: &str) -> Vec<&'static str> {
    let named = |is_near: &dyn Fn(&str) -> bool| -> Vec<&'static str> {
        CompatRule::ALL.iter().map(|rule| rule.id()).filter(|id| is_near(id)).take(SUGGESTED).collect()
    };
    let text = text.to_lowercase().replace('_', "-");
    let whole = named(&|id| text.len() > 2 && id.contains(&text));
    if !whole.is_empty() {
        return whole;
    }
    named(&|id| text.split('-').any(|word| word.len() > 2 && id.split('-').any(|part| part == word)))
}

/// How many names are suggested.
const SUGGESTED: usize = 3;

/// Markdown without its marks: the head in bold, code indented.
fn for_terminal(section: &str, style: Style) -> String {
    let mut is_code = false;
    let mut text = String::new();
    for line in section.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
            continue;
        }
        let shown = match (is_code, line.strip_prefix("## ")) {
            (true, _) => format!("    {line}"),
            (false, Some(head)) => style.bold(head),
            (false, None) => line.to_owned(),
        };
        text.push_str(&shown);
        text.push('\n');
    }
    text
}

fn list(context: &Context) -> CommandResult {
    if context.output.is_for_machines() {
        let rules = CompatRule::ALL.map(|rule| json!({"rule": rule.id(), "title": rule.text().title}));
        return context.output.json(&json!({"rules": rules}));
    }
    let mut table = Table::new([("RULE", Align::Left), ("WHAT IS WRONG", Align::Left)]);
    for rule in CompatRule::ALL {
        table.row([rule.id().to_owned(), rule.text().title.to_owned()]);
    }
    context.output.table(&table)
}

/// What the comparison says about the rule's own pair.
fn violation(rule: CompatRule) -> Result<Violation, Failure> {
    let not_shown = || Failure::no(format!("the example of {rule} could not be compared in time; try again"));
    let found = rule.example().violation().map_err(|error| Failure::no(error.to_string()))?;
    found.ok_or_else(not_shown)
}

fn for_machines(rule: CompatRule) -> Result<Value, Failure> {
    let (text, pair) = (rule.text(), rule.example());
    let (old, new) = pair.schemas().map_err(|error| Failure::no(error.to_string()))?;
    let violation = violation(rule)?;
    Ok(json!({"rule": text.id, "title": text.title, "explanation": text.explanation, "fix": text.fix, "old": old,
        "new": new, "why": pair.why, "pointer": violation.pointer, "example": violation.example, "upcast": pair.upcast}))
}

/// A section of the guide: Markdown that reads well as it is.
pub fn section(rule: CompatRule) -> Result<String, Failure> {
    let (text, pair) = (rule.text(), rule.example());
    let violation = violation(rule)?;
    let place = match violation.pointer.as_str() {
        "" => "the whole schema".to_owned(),
        pointer => format!("`{pointer}`"),
    };
    let mut section = format!("## {}\n\n{}. {}\n\n", text.id, text.title, text.explanation);
    section.push_str(&format!("```text\nold: {}\nnew: {}\n", pair.old, pair.new));
    if let Some(example) = &violation.example {
        section.push_str(&format!("document: {example}\n"));
    }
    let said = match violation.example {
        Some(_) => format!("The old schema accepts the document, and {place} of the new one refuses it."),
        None => format!("No document decides it, and {place} of the new one is named."),
    };
    section.push_str(&format!("```\n\n{} {said}\n\nTo change it safely: {}.", pair.why, text.fix));
    section.push_str(&match pair.upcast {
        Some(program) => format!(" For this pair the upcaster would be:\n\n```jq\n{program}\n```\n"),
        None => " No upcaster can help here.\n".to_owned(),
    });
    Ok(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_sees_no_marks_of_markdown() {
        let shown = for_terminal("## a\n\nText.\n\n```jq\n.a\n```\n", Style::Plain);
        assert_eq!(shown, "a\n\nText.\n\n    .a\n");
    }

    #[test]
    fn a_name_that_is_nearly_right_is_told_the_right_one() {
        assert!(nearest("required").contains(&"required-added"));
        assert!(nearest("required_add").contains(&"required-added"));
        assert!(nearest("nothing-like-it").is_empty());
    }
}
