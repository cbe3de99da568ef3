//! `prom schema show`: the versions of a topic, or the schema of one.

use clap::Args;
use prom_protocol::http::schema::{SchemaVersionView, TopicSchemaView};
use prom_types::TopicName;

use super::{known, settings};
use crate::cli::Context;
use crate::command::names;
use crate::exit::{CommandResult, Failure};
use crate::moment;
use crate::output::{Align, Table};
use crate::units::show_age;

/// Show the versions of a topic's schema, or one of them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom schema show orders.placed
  prom schema show orders.placed latest > orders.placed.json")]
pub struct Show {
    /// The topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// A version, or `latest`: prints its schema
    #[arg(id = "schema_version", value_name = "VERSION", value_parser = version)]
    version: Option<String>,
}

impl Show {
    pub async fn run(self, context: &Context) -> CommandResult {
        let hub = context.hub()?;
        let topic = self.topic.as_str();
        match self.version {
            None => {
                let answer = hub.get(&["topics", topic, "schema"], &()).await;
                let answer = answer.map_err(|failure| failure.fix_no(known::LIST))?;
                if answer.parse::<TopicSchemaView>()?.versions.is_empty() {
                    let none = format!("no schema is registered for {topic}");
                    return Err(Failure::no(none).fix(known::LIST));
                }
                context.show(&answer, |view| show_topic(context, &view))
            }
            Some(version) => {
                let answer = hub.get(&["topics", topic, "schema", &version], &()).await;
                let answer = answer.map_err(|failure| failure.fix_no(known::list_of(&self.topic)))?;
                context.show(&answer, |view: SchemaVersionView| {
                    let text = serde_json::to_string_pretty(&view.schema);
                    context.output.line(text.map_err(|error| Failure::no(format!("not JSON: {error}")))?)
                })
            }
        }
    }
}

fn version(text: &str) -> Result<String, String> {
    match (text, text.parse::<u32>()) {
        ("latest", _) => Ok(text.to_owned()),
        (_, Ok(version)) if version > 0 => Ok(text.to_owned()),
        _ => Err("a version is 1, 2, 3 and so on, or latest".to_owned()),
    }
}

fn show_topic(context: &Context, view: &TopicSchemaView) -> CommandResult {
    let name = context.output.style.bold(&view.topic);
    context.output.line(format!("{name}: {}", settings::in_words(&view.settings)))?;
    let mut table = Table::new([
        ("VERSION", Align::Right),
        ("ID", Align::Right),
        ("REGISTERED", Align::Right),
        ("BY", Align::Left),
        ("STATE", Align::Left),
    ]);
    let latest = view.versions.iter().rev().find(|entry| !entry.deleted).map(|entry| entry.version);
    for entry in &view.versions {
        let state = match entry.deleted {
            true => "deleted",
            false if Some(entry.version) == latest => "latest",
            false => "",
        };
        let age = moment::now_ms().saturating_sub(entry.registered_ts).max(0).unsigned_abs();
        table.row([
            entry.version.to_string(),
            entry.id.to_string(),
            format!("{} ago", show_age(age)),
            entry.registered_by.clone().unwrap_or_default(),
            state.to_owned(),
        ]);
    }
    context.output.table(&table.without_if_empty("BY"))?;
    for step in &view.upcasters {
        context.output.line(format!("upcaster {}→{}: {}", step.from, step.to, crate::output::printable(&step.jq)))?;
    }
    Ok(())
}
