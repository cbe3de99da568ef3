//! `prom schema delete`: takes versions out of use, or removes them for good.

use clap::Args;
use prom_protocol::http::schema::{DeleteSchema, DeletedVersions};
use prom_types::TopicName;

use super::known;
use crate::cli::Context;
use crate::command::names;
use crate::exit::{CommandResult, Failure};
use crate::hub::HubClient;

/// Delete a version, or all versions of a topic; with --hard for good
#[derive(Debug, Args)]
#[command(after_help = "\
A deleted version accepts no new events; stored events can still be read and upcast. --hard removes versions that \
were deleted before; stored events of that version can then no longer be upcast.

Examples:
  prom schema delete orders.placed 3
  prom schema delete orders.placed 3 --hard
  prom schema delete orders.placed --all")]
pub struct Delete {
    /// The topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// The version
    #[arg(id = "schema_version", value_name = "VERSION", required_unless_present = "all")]
    version: Option<u32>,
    /// All versions
    #[arg(long, conflicts_with = "schema_version")]
    all: bool,
    /// Remove deleted versions for good
    #[arg(long)]
    hard: bool,
}

impl Delete {
    pub async fn run(self, context: &Context) -> CommandResult {
        let hub = context.hub()?;
        let version = self.version.map(|version| version.to_string());
        let path: Vec<&str> = ["topics", self.topic.as_str(), "schema"].into_iter().chain(version.as_deref()).collect();
        let answer = hub.delete_with(&path, &DeleteSchema { hard: self.hard }).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(failure) => return Err(self.explain(&hub, failure).await),
        };
        let how = if self.hard { "removed for good" } else { "deleted" };
        context.show(&answer, |deleted: DeletedVersions| {
            let versions: Vec<String> = deleted.versions.iter().map(u32::to_string).collect();
            let noun = if versions.len() == 1 { "version" } else { "versions" };
            context.output.line(format!("{how}: {noun} {} of {}", versions.join(", "), deleted.topic))
        })?;
        if context.output.is_for_machines() || self.hard {
            return Ok(());
        }
        match known::of_topic(&hub, &self.topic).await {
            Ok(known) if known.iter().flat_map(|known| &known.versions).all(|entry| entry.deleted) => {
                context.output.line(format!("{} has no version left: it takes any payload now", self.topic))
            }
            // It is deleted, whatever can be said about the rest.
            _ => Ok(()),
        }
    }

    /// What comes before, or after, what was asked.
    async fn explain(&self, hub: &HubClient, refusal: Failure) -> Failure {
        let topic = &self.topic;
        let which = self.version.map_or_else(|| "--all".to_owned(), |version| version.to_string());
        let Ok(Some(known)) = known::of_topic(hub, topic).await else {
            return refusal.fix_no(known::LIST);
        };
        let mut meant =
            known.versions.iter().filter(|entry| self.version.is_none_or(|only| only == entry.version)).peekable();
        if meant.peek().is_none() {
            return refusal.fix_no(known::list_of(topic));
        }
        match (self.hard, meant.all(|entry| entry.deleted), &refusal) {
            (false, true, Failure::No(_)) => {
                let what = match self.version {
                    Some(version) => format!("version {version} of {topic} is deleted already"),
                    None => format!("all versions of {topic} are deleted already"),
                };
                Failure::no(what)
                    .fix(format!("`prom schema delete {topic} {which} --hard` removes what is deleted for good"))
            }
            (true, false, Failure::Usage(_)) => {
                refusal.fix(format!("delete it first: `prom schema delete {topic} {which}`"))
            }
            _ => refusal,
        }
    }
}
