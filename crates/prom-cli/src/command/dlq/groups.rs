//! `prom dlq groups`: letters by kind of error.

use clap::Args;
use prom_protocol::http::dlq::{LetterErrorView, LetterErrorsList, LetterErrorsQuery};
use prom_types::TopicName;

use super::{age, short};
use crate::cli::Context;
use crate::command::{names, partly};
use crate::exit::CommandResult;
use crate::output::{Align, Table, note};

/// Show what went wrong, how often, and since when
#[derive(Debug, Args)]
#[command(after_help = "\
Errors that differ only in numbers, ids and quoted parts are one kind. Counts are exact.

Examples:
  prom dlq groups
  prom dlq groups orders.placed
  prom dlq groups orders.placed --json")]
pub struct LetterGroupsCommand {
    /// Only letters of this topic
    #[arg(value_parser = names::topic)]
    topic: Option<TopicName>,
}

impl LetterGroupsCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        let answer = context.hub()?.get(&["dlq", "groups"], &LetterErrorsQuery { topic: self.topic }).await?;
        let list: LetterErrorsList = answer.parse()?;
        if list.hidden {
            partly::shown("topics", list.topics.len())?;
        }
        if list.omitted > 0 {
            note(format!("{} more topics are not shown; name one of them", list.omitted));
        }
        context.show(&answer, |list: LetterErrorsList| show(context, &list))
    }
}

fn show(context: &Context, list: &LetterErrorsList) -> CommandResult {
    let mut table = Table::new([
        ("TOPIC", Align::Left),
        ("LETTERS", Align::Right),
        ("REPLAYED", Align::Right),
        ("FIRST", Align::Right),
        ("LAST", Align::Right),
        ("GROUPS", Align::Left),
        ("FINGERPRINT", Align::Left),
        ("ERROR", Align::Left),
    ]);
    for topic in &list.topics {
        for error in &topic.errors {
            table.row([
                topic.topic.to_string(),
                error.count.to_string(),
                error.replayed.to_string(),
                age(error.first_ts),
                age(error.last_ts),
                groups(error),
                error.fingerprint.clone(),
                short(&error.pattern, 100),
            ]);
        }
    }
    if table.is_empty() {
        return context.output.line("no dead letters");
    }
    context.output.table(&table)
}

fn groups(error: &LetterErrorView) -> String {
    let mut groups: Vec<String> =
        error.groups.iter().take(3).map(|group| format!("{} {}", group.group, group.count)).collect();
    let more = error.groups.len().saturating_sub(3);
    if more > 0 || error.other_groups > 0 {
        groups.push("…".to_owned());
    }
    groups.join(", ")
}
