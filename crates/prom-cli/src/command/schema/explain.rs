//! `prom schema explain`: what a rule of the comparison means, with a pair of schemas that breaks it.
//!
//! Everything comes from the rule and from comparing its pair. `docs/guide/schema-rules.md` has the same text, and a test
//! compares.

use clap::Args;
use clap::builder::PossibleValue;
use prom_schema::compat::{CompatRule, RuleExample, Violation};
use serde_json::{Value, json};

use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::output::{Align, Table};

/// Explain a rule that a violation names: what it means, an example, how to make the change safely
#[derive(Debug, Args)]
#[command(after_help = "\
Without a rule, all of them are listed. No hub is asked.

Examples:
  prom schema explain
  prom schema explain required-added
  prom schema explain required-added --json")]
pub struct Explain {
    /// The rule, such as required-added
    #[arg(value_parser = parser())]
    rule: Option<CompatRule>,
}

#[derive(Clone)]
struct RuleParser;

fn parser() -> RuleParser {
    RuleParser
}

impl clap::builder::TypedValueParser for RuleParser {
    type Value = CompatRule;

    fn parse_ref(
        &self,
        _: &clap::Command,
        _: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<CompatRule, clap::Error> {
        let wanted = value.to_string_lossy();
        let unknown = || {
            let said = format!("there is no rule `{wanted}`; `prom schema explain` lists them\n");
            clap::Error::raw(clap::error::ErrorKind::InvalidValue, said)
        };
        CompatRule::named(&wanted).ok_or_else(unknown)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(CompatRule::ALL.into_iter().map(|rule| PossibleValue::new(rule.id()).hide(true))))
    }
}
