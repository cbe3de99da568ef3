//! `prom config`: the default file, and whether a file is right.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;

use crate::cli::Context;
use crate::config::{Config, USUAL_FILE, default_text, read_file};
use crate::exit::{CommandResult, Failure};

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
    /// Say ok, or everything that is wrong with a file
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

fn check(file: &std::path::Path, context: &Context) -> CommandResult {
    let problems = read_file(&mut Config::default(), file).err();
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
