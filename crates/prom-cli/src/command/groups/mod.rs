//! `prom groups`: who reads what, what was agreed on, and forgetting a group.

mod set;

use clap::{Args, Subcommand};
use prom_types::{EpochMs, GroupName};
use serde::Deserialize;

use self::set::Set;
use super::names;
use crate::cli::Context;
use crate::exit::Outcome;
use crate::moment;
use crate::output::{Align, Table};
use crate::units::show_age;

/// List groups, look at one, change or delete it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom groups
  prom groups show billing
  prom groups delete billing")]
pub struct Groups {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// List all groups
    #[command(after_help = "\
Examples:
  prom groups ls
  prom groups ls --json")]
    Ls,
    /// Show what a group reads and what was agreed on
    #[command(after_help = "\
Examples:
  prom groups show billing
  prom groups show billing --json")]
    Show {
        /// Its name
        #[arg(value_parser = names::group)]
        group: GroupName,
    },
    Set(Set),
    /// Delete a group with its cursors; its subscriptions end
    #[command(after_help = "\
Examples:
  prom groups delete billing
  prom groups delete test-run-17 --url http://127.0.0.1:9000")]
    Delete {
        /// Its name
        #[arg(value_parser = names::group)]
        group: GroupName,
    },
}

#[derive(Debug, Deserialize)]
struct GroupList {
    groups: Vec<Group>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    group: String,
    subscriptions: Vec<Subscription>,
    created_ts: EpochMs,
    subscribers: u64,
    /// Among several hubs.
    served_by: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Subscription {
    topics: Vec<String>,
    options: Options,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    from: String,
    order: String,
    filter: Option<String>,
    max_attempts: Option<u32>,
    backoff: Backoff,
    expire_after_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Backoff {
    first_ms: u64,
    max_ms: u64,
}

impl Groups {
    pub async fn run(self, context: &Context) -> Outcome {
        let hub = context.hub()?;
        match self.what.unwrap_or(What::Ls) {
            What::Ls => {
                let answer = hub.get(&["groups"], &[]).await?;
                match context.output.is_for_machines() {
                    true => context.output.line(answer.text.trim_end()),
                    false => list(context, &answer.parse::<GroupList>()?.groups),
                }
            }
            What::Show { group } => {
                let answer = hub.get(&["groups", group.as_str()], &[]).await?;
                match context.output.is_for_machines() {
                    true => context.output.line(answer.text.trim_end()),
                    false => show(context, &answer.parse()?),
                }
            }
            What::Set(set) => set.run(context).await,
            What::Delete { group } => {
                hub.delete(&["groups", group.as_str()]).await?;
                match context.output.is_for_machines() {
                    true => context.output.json(&serde_json::json!({"deleted": group.as_str()})),
                    false => context.output.line(format!("{group} is deleted")),
                }
            }
        }
    }
}

fn list(context: &Context, groups: &[Group]) -> Outcome {
    let mut table = Table::new([
        ("GROUP", Align::Left),
        ("SUBSCRIBERS", Align::Right),
        ("MADE", Align::Right),
        ("SERVED BY", Align::Left),
        ("READS", Align::Left),
    ]);
    for group in groups {
        let topics: Vec<&str> =
            group.subscriptions.iter().flat_map(|subscription| &subscription.topics).map(String::as_str).collect();
        table.row([
            group.group.clone(),
            group.subscribers.to_string(),
            age(group.created_ts),
            group.served_by.clone().unwrap_or_default(),
            topics.join(", "),
        ]);
    }
    match table.is_empty() {
        true => context.output.line("no groups yet; `prom sub hello --group mine` makes one"),
        false => context.output.table(&table.without_if_empty("SERVED BY")),
    }
}

fn show(context: &Context, group: &Group) -> Outcome {
    let name = context.output.style.bold(&group.group);
    let by = group.served_by.as_ref().map_or_else(String::new, |hub| format!(", served by {hub}"));
    context.output.line(format!("{name}: {} subscribers, made {}{by}", group.subscribers, age(group.created_ts)))?;
    let mut table = Table::new([
        ("READS", Align::Left),
        ("BEGAN", Align::Left),
        ("ORDER", Align::Left),
        ("ATTEMPTS", Align::Right),
        ("BACKOFF", Align::Right),
        ("EXPIRES AFTER", Align::Right),
        ("FILTER", Align::Left),
    ]);
    for Subscription { topics, options } in &group.subscriptions {
        table.row([
            topics.join(", "),
            options.from.clone(),
            options.order.clone(),
            options.max_attempts.map_or_else(|| "topic's".to_owned(), |attempts| attempts.to_string()),
            format!("{} to {}", show_age(options.backoff.first_ms), show_age(options.backoff.max_ms)),
            options.expire_after_ms.map_or_else(|| "never".to_owned(), show_age),
            options.filter.clone().unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    context.output.table(&table)
}

fn age(ts: EpochMs) -> String {
    format!("{} ago", show_age(moment::now_ms().saturating_sub(ts).max(0).unsigned_abs()))
}
