//! `prom schema set`: how the schemas of a topic are judged, or those of all topics.

use clap::Args;
use prom_protocol::http::schema::{SchemaSettingsChange, SchemaSettingsView};
use prom_types::TopicName;

use super::settings::{self, SettingsFlags};
use crate::cli::Context;
use crate::command::names;
use crate::exit::{CommandResult, Failure};

/// Change the schema settings of a topic; settings that you leave out do not change
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom schema set orders.placed --compat full_transitive
  prom schema set orders.placed --inherit
  prom schema set --all-topics --policy strict")]
pub struct Set {
    /// The topic
    #[arg(value_parser = names::topic, required_unless_present = "all_topics")]
    topic: Option<TopicName>,
    /// Change the defaults for topics without their own settings
    #[arg(long, conflicts_with = "topic")]
    all_topics: bool,
    /// Remove the topic's own settings
    #[arg(long, conflicts_with_all = ["all_topics", "compat", "policy", "formats", "undecided", "admit", "unversioned_as"])]
    inherit: bool,
    #[command(flatten)]
    flags: SettingsFlags,
}

impl Set {
    pub async fn run(self, context: &Context) -> CommandResult {
        let hub = context.hub()?;
        let change = self.flags.change();
        if !self.inherit && change == SchemaSettingsChange::default() {
            return Err(Failure::usage("nothing to change").fix("give a setting, such as --compat full"));
        }
        let (name, answer) = match &self.topic {
            Some(topic) => {
                let path = ["topics", topic.as_str(), "schema", "settings"];
                let answer = if self.inherit { hub.delete(&path).await? } else { hub.put(&path, &change).await? };
                (topic.as_str(), answer)
            }
            None => ("where a topic sets nothing", hub.put(&["registry", "settings"], &change).await?),
        };
        context.show(&answer, |now: SchemaSettingsView| {
            context.output.line(format!("{name}: {}", settings::in_words(&now)))
        })
    }
}
