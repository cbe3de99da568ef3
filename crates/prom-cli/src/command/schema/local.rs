//! `prom schema check FOLDER --local`: a folder by itself, for continuous integration.

use std::path::Path;

use prom_schema::SchemaSettings;
use serde_json::json;

use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::output::counted;
use crate::schema_folder::{JudgedVersion, SchemaFolder};
use crate::violations;

pub async fn check(context: &Context, path: &Path) -> CommandResult {
    let folder = SchemaFolder::read_filled(path)?;
    let judged = folder.judge(SchemaSettings::default())?;
    if context.output.is_for_machines() {
        let one = |version: &JudgedVersion| {
            json!({"topic": version.topic, "version": version.version, "file": version.path,
                "compatible": version.violations.is_empty(), "violations": version.violations})
        };
        context.output.json(&json!({"versions": judged.iter().map(one).collect::<Vec<_>>()}))?;
    }
    let wrong: Vec<&JudgedVersion> = judged.iter().filter(|version| !version.violations.is_empty()).collect();
    if !wrong.is_empty() {
        let told = wrong.iter().map(|version| {
            format!(
                "{} breaks compat {}\n{}",
                version.path.display(),
                version.compat,
                violations::in_words(&version.violations)
            )
        });
        return Err(Failure::no(told.collect::<Vec<_>>().join("\n")));
    }
    if context.output.is_for_machines() {
        return Ok(());
    }
    let (versions, topics) = (judged.len() as u64, folder.topics().len() as u64);
    let are = if versions == 1 { "is" } else { "are" };
    let (versions, topics) = (counted(versions, "version"), counted(topics, "topic"));
    context.output.line(format!("{}: {versions} of {topics} {are} compatible", path.display()))
}
