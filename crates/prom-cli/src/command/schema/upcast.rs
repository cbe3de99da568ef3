//! `prom schema upcast`: the step from one version to the next.

use std::path::PathBuf;

use clap::Args;
use prom_protocol::http::schema::{SetUpcaster, UpcasterView};
use prom_types::TopicName;

use super::file;
use crate::cli::Context;
use crate::command::names;
use crate::exit::CommandResult;

/// Set or remove the jq program that turns payloads of one version into the next
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom schema upcast heartbeat.received 1 v1-to-v2.jq
  prom schema upcast heartbeat.received 1 --jq '.mem_mib = .mem_mb | del(.mem_mb)'
  prom schema upcast heartbeat.received 1 --remove")]
pub struct Upcast {
    /// The topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// The version that the step starts from
    from: u32,
    /// File with the program
    #[arg(required_unless_present_any = ["jq", "remove"])]
    file: Option<PathBuf>,
    /// The program itself
    #[arg(long, value_name = "PROGRAM", conflicts_with = "file")]
    jq: Option<String>,
    /// Remove the step
    #[arg(long, conflicts_with_all = ["file", "jq"])]
    remove: bool,
}

impl Upcast {
    pub async fn run(self, context: &Context) -> CommandResult {
        let hub = context.hub()?;
        let from = self.from.to_string();
        let path = ["topics", self.topic.as_str(), "schema", "upcasters", &from];
        let program = match (self.jq, self.file) {
            (Some(program), _) => Some(program),
            (None, Some(file)) => Some(file::text(&file)?),
            (None, None) => None,
        };
        let Some(jq) = program else {
            hub.delete(&path).await?;
            if context.output.is_for_machines() {
                return context.output.json(&serde_json::json!({"removed": self.from}));
            }
            return context.output.line(format!("{} has no upcaster from version {from} any more", self.topic));
        };
        let answer = hub.put(&path, &SetUpcaster { jq }).await?;
        context.show(&answer, |step: UpcasterView| {
            context
                .output
                .line(format!("{}: version {} is turned into {} by this program", self.topic, step.from, step.to))
        })
    }
}
