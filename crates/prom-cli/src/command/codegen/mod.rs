//! `prom codegen`: types and validators for programs, from the schemas of topics.
//!
//! Promises: a file that is current is not written again, so build tools see no change. A file is replaced whole or stays as
//! it was. `--check` writes nothing.

mod sources;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use prom_schema::codegen::{Drift, Generated, Language, compare, generate};
use prom_types::TopicPattern;
use serde_json::{Value, json};

use self::sources::SchemaSelection;
use super::names;
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::output::{counted, note};

/// Write types and validators from the schemas of topics
#[derive(Debug, Args)]
#[command(after_help = "\
Schemas come from the registry of the hub, or with --folder from files: one folder per topic, with one file per \
version (schemas/orders.placed/v1.json, v2.json and so on). Both give the same bytes for the same schemas.
TypeScript gets a type, a validator and the map of topics that types a client; Rust gets types for serde. Notes \
about what the code does not express go to standard error.

Examples:
  prom codegen ts --out src/topics.ts                            all schemas of the hub
  prom codegen rust --topic 'orders.**' --versions latest        to standard output
  prom codegen ts --folder schemas --out src/topics.ts           without a hub
  prom codegen ts --folder schemas --out src/topics.ts --check   for CI: exit 1 if out of date")]
pub struct Codegen {
    /// What to write
    #[arg(value_name = "LANGUAGE")]
    language: CodegenLanguage,
    /// Read files of this folder instead of the hub's registry
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Only these topics; may be given several times
    #[arg(long, value_name = "PATTERN", value_parser = names::pattern)]
    topic: Vec<TopicPattern>,
    /// Which versions of each topic
    #[arg(long, value_name = "WHICH", default_value = "all")]
    versions: VersionChoice,
    /// File to write; `-` is standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    out: PathBuf,
    /// Write nothing; exit 1 and show the difference if the file is not current
    #[arg(long)]
    check: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CodegenLanguage {
    /// TypeScript
    Ts,
    /// Rust
    Rust,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum VersionChoice {
    All,
    Latest,
}

impl Codegen {
    pub async fn run(self, context: &Context) -> CommandResult {
        let is_stdout = self.out.as_os_str() == "-";
        if self.check && is_stdout {
            return Err(Failure::usage("--check compares with a file").fix("name it with --out"));
        }
        let wanted = SchemaSelection { topics: &self.topic, versions: self.versions };
        let sources = match &self.folder {
            Some(folder) => sources::of_folder(folder, &wanted)?,
            None => sources::of_hub(&context.hub()?, &wanted).await?,
        };
        let language = match self.language {
            CodegenLanguage::Ts => Language::TypeScript,
            CodegenLanguage::Rust => Language::Rust,
        };
        let generated = generate(language, &sources)
            .map_err(|error| Failure::no(error.to_string()).fix("fix the schema, or exclude its topic with --topic"))?;
        for about in &generated.notes {
            note(format!("note: {} v{} at `{}`: {}", about.topic, about.version, about.pointer, about.text));
        }
        if is_stdout {
            return context.output.text(&generated.text);
        }
        let on_disk = read_current(&self.out)?;
        let drift = match &on_disk {
            Some(text) => compare(text, &generated.text),
            None => compare("", &generated.text),
        };
        if self.check {
            return self.judge(context, drift, &generated);
        }
        if drift.is_some() || on_disk.is_none() {
            replace(&self.out, &generated.text)?;
        }
        let changed = drift.is_some();
        if context.output.is_for_machines() {
            return context.output.json(&self.report(&generated, !changed));
        }
        let state = if changed { "written" } else { "is current" };
        note(format!("{}: {state}, {}", self.out.display(), counted(sources.len() as u64, "schema")));
        Ok(())
    }

    /// The answer of `--check`.
    fn judge(&self, context: &Context, drift: Option<Drift>, generated: &Generated) -> CommandResult {
        if context.output.is_for_machines() {
            context.output.json(&self.report(generated, drift.is_none()))?;
        }
        let Some(drift) = drift else {
            return Ok(());
        };
        if !context.output.is_for_machines() {
            context.output.line(&drift.diff)?;
        }
        let (added, removed) = (drift.lines_added, drift.lines_removed);
        Err(Failure::no(format!("{} is out of date: {added} lines to add, {removed} to remove", self.out.display()))
            .fix("run the same command without --check, and commit the file"))
    }

    fn report(&self, generated: &Generated, is_current: bool) -> Value {
        let notes = generated.notes.iter().map(|about| {
            json!({"topic": about.topic, "version": about.version, "pointer": about.pointer, "text": about.text})
        });
        json!({"file": self.out, "current": is_current, "notes": notes.collect::<Vec<_>>()})
    }
}

fn read_current(file: &Path) -> Result<Option<String>, Failure> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::no(format!("{} cannot be read: {error}", file.display()))),
    }
}

/// Under another name first: a compiler must not see half a file.
fn replace(file: &Path, text: &str) -> Result<(), Failure> {
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, file));
    written.map_err(|error| {
        // The part is useless. Failing to remove it does not change the outcome.
        drop(std::fs::remove_file(&part));
        Failure::no(format!("{} cannot be written: {error}", file.display())).fix("choose another place with --out")
    })
}
