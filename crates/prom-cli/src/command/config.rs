//! `prom config`: the default file, and whether a file is right.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::Context;
use crate::config::{ConfigProblem, ConfigProblems, Overrides, USUAL_FILE, default_text, load};
use crate::exit::{CommandResult, Failure, FailureText};
use crate::serve;

/// Print the default configuration, or check a file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom config default > prom.toml      a commented file to begin with
  prom config check prom.toml          exit 1 and say where, if anything is wrong")]
pub struct ConfigCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print every key with its meaning and its default
    #[command(after_help = "\
Examples:
  prom config default
  prom config default > prom.toml")]
    Default,
    /// Check a file: print ok, or every error that would keep a hub from starting
    #[command(after_help = "\
Examples:
  prom config check
  prom config check deploy/prom.toml --json")]
    Check {
        /// The file
        #[arg(default_value = USUAL_FILE)]
        file: PathBuf,
    },
}

impl ConfigCommand {
    pub fn run(self, context: &Context) -> CommandResult {
        match self.what {
            What::Default => context.output.text(&default_text()),
            What::Check { file } => check(&file, context),
        }
    }
}

/// What is wrong with the file, or, if nothing is, why a hub would still not start with it in this environment.
fn problems_of(file: &Path) -> Option<ConfigProblems> {
    let loaded = match load(Some(file), |name| std::env::var(name).ok(), Overrides::default()) {
        Ok(loaded) => loaded,
        Err(problems) => return Some(problems),
    };
    let refused = serve::check(&loaded.config).err()?;
    let place = file.display().to_string();
    Some(match refused {
        Failure::Usage(FailureText { what, fix }) | Failure::No(FailureText { what, fix }) => {
            ConfigProblem { place, what, hint: fix }.into()
        }
        other => ConfigProblem::new(place, other.text().unwrap_or_default()).into(),
    })
}

fn check(file: &Path, context: &Context) -> CommandResult {
    let problems = problems_of(file);
    if context.output.is_for_machines() {
        let list = problems.iter().flat_map(|problems| &problems.0);
        let list: Vec<_> =
            list.map(|problem| json!({"place": problem.place, "what": problem.what, "hint": problem.hint})).collect();
        context.output.json(&json!({"file": file, "ok": list.is_empty(), "problems": list}))?;
    }
    match problems {
        None if context.output.is_for_machines() => Ok(()),
        None => context.output.line(format!("{}: ok", file.display())),
        Some(problems) => Err(Failure::no(problems.to_string())),
    }
}
