//! `prom codegen`: types and validators for programs, from the schemas of topics.
//!
//! Promises: a file that is current is not written again, so build tools see no change. A file is replaced whole or stays as
//! it was. `--check` writes nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use prom_schema::codegen::{Drift, Generated, Language, SchemaSource, compare, generate};
use prom_types::{TopicName, TopicPattern};
use serde_json::{Value, json};

use super::names;
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::output::note;

/// Write types and validators from the schemas of topics
#[derive(Debug, Args)]
#[command(after_help = "\
The folder has one folder for each topic, with a file for each version: schemas/orders.placed/v1.json, v2.json and so on.
TypeScript gets a type, a validator and the map of topics that types a client; Rust gets types for serde.
The same schemas give the same bytes. Notes about what the code does not express go to standard error.

Examples:
  prom codegen ts --folder schemas --out src/topics.ts
  prom codegen rust --folder schemas --out src/topics.rs
  prom codegen ts --folder schemas --topic 'orders.**' --versions latest
  prom codegen ts --folder schemas --out src/topics.ts --check       for CI: exit 1 if the file is not current")]
pub struct Codegen {
    /// What to write
    #[arg(value_name = "LANGUAGE")]
    language: CodegenLanguage,
    /// Folder of schemas
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
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
    pub fn run(self, context: &Context) -> CommandResult {
        let is_stdout = self.out.as_os_str() == "-";
        if self.check && is_stdout {
            return Err(Failure::usage("--check compares with a file").fix("name it with --out"));
        }
        let sources = self.wanted(read_folder(&self.folder)?)?;
        let language = match self.language {
            CodegenLanguage::Ts => Language::TypeScript,
            CodegenLanguage::Rust => Language::Rust,
        };
        let generated = generate(language, &sources).map_err(|error| {
            Failure::no(error.to_string()).fix("mend the schema, or leave its topic out with --topic")
        })?;
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
        note(format!("{}: {state}, {} schemas", self.out.display(), sources.len()));
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
        Err(Failure::no(format!("{} is not current: {added} lines to add, {removed} to remove", self.out.display()))
            .fix("run the same command without --check, and commit the file"))
    }

    fn report(&self, generated: &Generated, is_current: bool) -> Value {
        let notes = generated.notes.iter().map(|about| {
            json!({"topic": about.topic, "version": about.version, "pointer": about.pointer, "text": about.text})
        });
        json!({"file": self.out, "current": is_current, "notes": notes.collect::<Vec<_>>()})
    }

    fn wanted(&self, mut sources: Vec<SchemaSource>) -> Result<Vec<SchemaSource>, Failure> {
        let is_asked_for = |topic: &TopicName| {
            self.topic.is_empty() || self.topic.iter().any(|pattern| pattern.matches(topic.as_str()))
        };
        sources.retain(|source| is_asked_for(&source.topic));
        if self.versions == VersionChoice::Latest {
            sources.retain(|source| source.is_latest);
        }
        if sources.is_empty() {
            return Err(Failure::no(format!("{} has no schema of such a topic", self.folder.display()))
                .fix("a schema is in a folder with the name of its topic: schemas/orders.placed/v1.json"));
        }
        Ok(sources)
    }
}

/// Every `<topic>/v<version>.json`. Other files beside them have other uses.
fn read_folder(folder: &Path) -> Result<Vec<SchemaSource>, Failure> {
    let mut sources = Vec::new();
    for path in entries(folder)? {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !path.is_dir() || name.starts_with('.') {
            continue;
        }
        let topic = TopicName::parse(name).map_err(|error| {
            Failure::usage(format!("{}: {error}", path.display())).fix("a folder of schemas has the name of its topic")
        })?;
        let mut versions = BTreeMap::new();
        for file in entries(&path)? {
            if let Some(version) = version_of(&file) {
                versions.insert(version, read_schema(&file)?);
            }
        }
        let latest = versions.keys().next_back().copied();
        sources.extend(versions.into_iter().map(|(version, schema)| SchemaSource {
            topic: topic.clone(),
            version,
            schema,
            is_latest: Some(version) == latest,
        }));
    }
    Ok(sources)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| {
        Failure::usage(format!("{} cannot be read: {error}", folder.display()))
            .fix("name the folder of schemas with --folder")
    };
    let listed = std::fs::read_dir(folder).map_err(failed)?;
    let mut paths =
        listed.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    paths.sort();
    Ok(paths)
}

/// `v12.json` is 12.
fn version_of(file: &Path) -> Option<u32> {
    let digits = file.file_name()?.to_str()?.strip_prefix('v')?.strip_suffix(".json")?;
    digits.parse().ok().filter(|version| *version > 0 && !digits.starts_with(['0', '+']))
}

fn read_schema(file: &Path) -> Result<Value, Failure> {
    let wrong = |error: String| Failure::no(format!("{}: {error}", file.display())).fix("a schema is a file of JSON");
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
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
