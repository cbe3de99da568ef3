//! `prom groups`: lists groups, shows the options and members of one, changes or deletes it, takes leases back.

mod kick;
mod release;
mod set;

use clap::{Args, Subcommand};
use prom_protocol::http::groups::{GroupList, GroupMemberView, GroupView, SubscriptionView};
use prom_protocol::http::parked::ParkedKeyView;
use prom_types::{EpochMs, GroupName, TopicPattern};

use self::kick::KickCommand;
use self::release::ReleaseCommand;
use self::set::SetGroup;
use super::{names, partly};
use crate::cli::Context;
use crate::exit::CommandResult;
use crate::moment;
use crate::output::{Align, Style, Table};
use crate::units::show_age;

/// List, show, change and delete groups; take leases back
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom groups
  prom groups show billing
  prom groups release orders.placed billing 1200
  prom groups kick billing worker-3
  prom groups delete billing")]
pub struct GroupsCommand {
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
    /// Show what a group reads, its options, and its members
    #[command(after_help = "\
Examples:
  prom groups show billing
  prom groups show billing --json")]
    Show {
        /// Name of the group
        #[arg(value_parser = names::group)]
        group: GroupName,
    },
    Set(SetGroup),
    Release(ReleaseCommand),
    Kick(KickCommand),
    /// Delete a group and its cursors; its subscriptions end
    #[command(after_help = "\
Examples:
  prom groups delete billing
  prom groups delete test-run-17 --url http://127.0.0.1:9000")]
    Delete {
        /// Name of the group
        #[arg(value_parser = names::group)]
        group: GroupName,
    },
}

impl GroupsCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        let hub = context.hub()?;
        match self.what.unwrap_or(What::Ls) {
            What::Ls => {
                let answer = hub.get(&["groups"], &()).await?;
                let list: GroupList = answer.parse()?;
                if list.hidden {
                    partly::shown("groups", list.groups.len())?;
                }
                partly::answered(&list.silent_hubs, "subscribers");
                context.show(&answer, |list: GroupList| show_list(context, &list.groups))
            }
            What::Show { group } => {
                let answer = hub.get(&["groups", group.as_str()], &()).await?;
                context.show(&answer, |group| show(context, &group))
            }
            What::Set(set) => set.run(context).await,
            What::Release(release) => release.run(context).await,
            What::Kick(kick) => kick.run(context).await,
            What::Delete { group } => {
                hub.delete(&["groups", group.as_str()]).await?;
                if context.output.is_for_machines() {
                    return context.output.json(&serde_json::json!({"deleted": group.as_str()}));
                }
                context.output.line(format!("{group} is deleted"))
            }
        }
    }
}

fn show_list(context: &Context, groups: &[GroupView]) -> CommandResult {
    let mut table = Table::new([
        ("GROUP", Align::Left),
        ("SUBSCRIBERS", Align::Right),
        ("CREATED", Align::Right),
        ("SERVED BY", Align::Left),
        ("READS", Align::Left),
    ]);
    for group in groups {
        let topics = group.subscriptions.iter().flat_map(|subscription| &subscription.topics);
        table.row([
            group.group.to_string(),
            group.subscribers.to_string(),
            age(group.created_ts),
            group.served_by.clone().unwrap_or_default(),
            joined(topics),
        ]);
    }
    if table.is_empty() {
        return context.output.line("no groups yet; `prom sub hello --group mine` creates one");
    }
    context.output.table(&table.without_if_empty("SERVED BY"))
}

fn show(context: &Context, group: &GroupView) -> CommandResult {
    context.output.line(describe(context.output.style, group))?;
    let mut table = Table::new([
        ("READS", Align::Left),
        ("BEGAN", Align::Left),
        ("MODE", Align::Left),
        ("PARTITIONS", Align::Left),
        ("ORDER", Align::Left),
        ("PARKS", Align::Left),
        ("ATTEMPTS", Align::Right),
        ("BACKOFF", Align::Right),
        ("EXPIRES AFTER", Align::Right),
        ("FILTER", Align::Left),
    ]);
    for SubscriptionView { topics, options } in &group.subscriptions {
        let or_topics = |number: Option<u32>| number.map_or_else(|| "topic's".to_owned(), |number| number.to_string());
        table.row([
            joined(topics.iter()),
            options.from.clone(),
            options.mode.to_string(),
            or_topics(options.partitions),
            options.order.to_string(),
            if options.park { "yes" } else { "no" }.to_owned(),
            or_topics(options.max_attempts),
            format!("{} to {}", show_age(options.backoff.first_ms), show_age(options.backoff.max_ms)),
            options.expire_after_ms.map_or_else(|| "never".to_owned(), show_age),
            options.filter.clone().unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    context.output.table(&table)?;
    if !group.members.is_empty() {
        context.output.line("")?;
        let members = members(&group.members).without_if_empty("SUBJECT").without_if_empty("PAUSED");
        context.output.table(&members)?;
    }
    if group.parked.is_empty() {
        return Ok(());
    }
    context.output.line("")?;
    context.output.table(&parked(&group.parked))
}

/// Keys that stopped.
fn parked(keys: &[ParkedKeyView]) -> Table {
    let mut table = Table::new([
        ("PARKED KEY", Align::Left),
        ("TOPIC", Align::Left),
        ("PARTITION", Align::Right),
        ("SINCE", Align::Right),
        ("LETTERS", Align::Right),
        ("FIRST", Align::Left),
        ("BEHIND", Align::Left),
    ]);
    for key in keys {
        let state = if key.waiting { "given back" } else { "waits" };
        table.row([
            key.key.clone(),
            key.topic.to_string(),
            key.partition.to_string(),
            age(key.since_ts),
            if key.letters >= 1000 { "1000 or more".to_owned() } else { key.letters.to_string() },
            key.first.map_or_else(|| "-".to_owned(), |first| format!("offset {first}, {state}")),
            key.behind.to_string(),
        ]);
    }
    table
}

fn members(members: &[GroupMemberView]) -> Table {
    let mut table = Table::new([
        ("MEMBER", Align::Left),
        ("SUBJECT", Align::Left),
        ("ADDRESS", Align::Left),
        ("SINCE", Align::Right),
        ("IN FLIGHT", Align::Right),
        ("OLDEST LEASE", Align::Right),
        ("PAUSED", Align::Left),
        ("READS", Align::Left),
    ]);
    for member in members {
        table.row([
            member.member.clone(),
            member.subject.clone().unwrap_or_default(),
            member.address.clone().unwrap_or_else(|| "-".to_owned()),
            age(member.since_ts),
            format!("{} of {}", member.in_flight, member.max_in_flight),
            member.oldest_lease_ms.map_or_else(|| "-".to_owned(), show_age),
            if member.paused { "yes".to_owned() } else { String::new() },
            joined(member.topics.iter()),
        ]);
    }
    table
}

fn describe(style: Style, group: &GroupView) -> String {
    let subscribers = match group.subscribers {
        1 => "1 subscriber".to_owned(),
        count => format!("{count} subscribers"),
    };
    let mut text = format!("{}: {subscribers}, created {}", style.bold(&group.group), age(group.created_ts));
    // The hub keeps this time only for groups that can expire.
    if group.subscriptions.iter().any(|subscription| subscription.options.expire_after_ms.is_some()) {
        text.push_str(&format!(", last used {}", age(group.last_used_ts)));
    }
    if let Some(hub) = &group.served_by {
        text.push_str(&format!(", served by {hub}"));
    }
    text
}

fn joined<'a>(topics: impl Iterator<Item = &'a TopicPattern>) -> String {
    topics.map(TopicPattern::as_str).collect::<Vec<_>>().join(", ")
}

fn age(ts: EpochMs) -> String {
    format!("{} ago", show_age(moment::now_ms().saturating_sub(ts).max(0).unsigned_abs()))
}
