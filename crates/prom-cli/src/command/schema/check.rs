//! `prom schema check`: whether a schema could be registered, at a hub or, for a folder, without one.

use std::path::PathBuf;

use clap::Args;
use prom_protocol::http::schema::{RegisterSchema, SchemaReference, SchemaVerdict};
use prom_schema::Compat;

use super::known::{self, HeldTo};
use super::{file, local, settings};
use crate::cli::Context;
use crate::command::names;
use crate::exit::{CommandResult, Failure};
use crate::output::note;
use crate::violations;

/// Check whether a schema could be registered; exit 1 and say why, if not
#[derive(Debug, Args)]
#[command(after_help = "\
A folder has one folder per topic with v1.json, v2.json and so on, upcasters such as v1-to-v2.jq, and settings.toml. \
With --local no hub is needed: each version is compared with the earlier ones in the folder.

Examples:
  prom schema check orders.placed schemas/orders.placed/v2.json
  prom schema check orders.placed v2.json --upcast v1-to-v2.jq
  prom schema check schemas --local")]
pub struct Check {
    /// The topic, or with --local the folder
    #[arg(value_name = "TOPIC|FOLDER")]
    target: String,
    /// File with the schema
    #[arg(required_unless_present = "local")]
    file: Option<PathBuf>,
    /// Compare the versions of a folder with each other, without a hub
    #[arg(long, conflicts_with_all = ["file", "compat", "upcast", "reference"])]
    local: bool,
    /// Compatibility to check, instead of the topic's setting
    #[arg(long, value_name = "WORD", value_parser = settings::parse::<Compat>)]
    compat: Option<Compat>,
    /// File with the jq program from the previous version
    #[arg(long, value_name = "FILE")]
    upcast: Option<PathBuf>,
    /// Another schema in the registry that this one refers to; can be repeated
    #[arg(long, value_name = "NAME=TOPIC:VERSION", value_parser = file::reference)]
    reference: Vec<SchemaReference>,
}

impl Check {
    pub async fn run(self, context: &Context) -> CommandResult {
        let Some(path) = self.file.filter(|_| !self.local) else {
            return local::check(context, self.target.as_ref()).await;
        };
        let topic = names::topic(&self.target).map_err(Failure::usage)?;
        let hub = context.hub()?;
        let held_to = HeldTo::new(self.compat, self.upcast.as_ref());
        let mut request = RegisterSchema {
            schema: file::schema(&path)?,
            references: self.reference,
            compat: None,
            version: None,
            upcast: self.upcast.as_deref().map(file::text).transpose()?,
        };
        request.compat = held_to.word(&hub, &topic).await?;
        let answer = hub.post(&["topics", &topic, "schema", "check"], &request).await;
        let answer = answer.map_err(|failure| held_to.advise(failure, &topic))?;
        let verdict: SchemaVerdict = answer.parse()?;
        if context.output.is_for_machines() {
            context.output.line(answer.text.trim_end())?;
        }
        if !verdict.compatible {
            let why = violations::in_words(&verdict.violations);
            let refusal = Failure::no(format!("{} is not compatible with {topic}\n{why}", path.display()));
            return Err(held_to.advise(refusal, &topic));
        }
        verdict.notes.iter().for_each(note);
        if context.output.is_for_machines() {
            return Ok(());
        }
        let path = path.display();
        if let Some(version) = verdict.existing {
            return context.output.line(format!("{path}: registered already, as version {version} of {topic}"));
        }
        // What else there is does not change the answer: a token that may not see it gets the shorter one.
        let is_first = matches!(known::of_topic(&hub, &topic).await, Ok(None));
        context.output.line(match is_first {
            true => format!("{path}: could be registered; {topic} has no schema yet, so it would be version 1"),
            false => format!("{path}: could be registered for {topic}"),
        })
    }
}
