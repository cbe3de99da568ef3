//! `prom partitions`: who owns the partitions of a topic in a group.

use clap::Args;
use prom_protocol::http::GroupInTopic;
use prom_protocol::http::partitions::PartitionList;
use prom_types::{GroupName, TopicName};

use super::names;
use crate::cli::Context;
use crate::exit::CommandResult;
use crate::output::{Align, Table};

/// Show who owns the partitions of a topic
#[derive(Debug, Args)]
#[command(after_help = "\
In a group with mode `shared`, partitions have no owner: every subscriber gets events of all of them.

Examples:
  prom partitions orders.placed billing
  prom partitions orders.placed billing --json")]
pub struct Partitions {
    /// The topic
    #[arg(value_parser = names::topic)]
    topic: TopicName,
    /// The group
    #[arg(value_parser = names::group)]
    group: GroupName,
}

impl Partitions {
    pub async fn run(self, context: &Context) -> CommandResult {
        let query = GroupInTopic { topic: self.topic, group: self.group };
        let answer = context.hub()?.get(&["partitions"], &query).await?;
        context.show(&answer, |list| {
            context.output.line(describe(&list))?;
            context.output.table(&table(&list))
        })
    }
}

fn describe(list: &PartitionList) -> String {
    let Some(generation) = list.generation else {
        return format!("mode {}: every subscriber takes from every partition", list.mode);
    };
    let kind = if list.is_virtual { "virtual partition" } else { "partition" };
    let idle = list.members.iter().filter(|member| member.partitions.is_empty()).map(|member| member.member.as_str());
    let idle: Vec<&str> = idle.collect();
    let (partitions, members) = (counted(list.partitions.len(), kind), counted(list.members.len(), "member"));
    let mut text = format!("mode {}, {partitions}, {members}, generation {generation}", list.mode);
    if !idle.is_empty() {
        text.push_str(&format!("; without a partition: {}", idle.join(", ")));
    }
    text
}

fn counted(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        many => format!("{many} {what}s"),
    }
}

fn table(list: &PartitionList) -> Table {
    let mut table = Table::new([
        ("PARTITION", Align::Right),
        ("OWNER", Align::Left),
        ("EPOCH", Align::Right),
        ("BEHIND", Align::Right),
        ("IN FLIGHT", Align::Right),
    ]);
    for one in &list.partitions {
        let owner = match (&one.owner, &one.moving_to) {
            (Some(owner), Some(next)) => format!("{owner} -> {next}"),
            (Some(owner), None) => owner.clone(),
            (None, _) => "-".to_owned(),
        };
        table.row([
            one.partition.to_string(),
            owner,
            shown(one.epoch),
            shown(one.lag_events),
            one.in_flight.to_string(),
        ]);
    }
    table
}

fn shown(number: Option<u64>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_that_moves_shows_both_members_and_idle_ones_are_named() {
        let member = r#""weight":1,"pins":[],"ttl_ms":null,"meta":null"#;
        let text = format!(
            r#"{{"topic":"t","group":"g","mode":"partitioned","generation":3,"virtual":false,
            "members":[{{"member":"a",{member},"partitions":[0]}},{{"member":"b",{member},"partitions":[]}}],
            "partitions":[{{"partition":0,"owner":"a","moving_to":"b","epoch":7,"floor":1,"next":6,"lag_events":5,
            "in_flight":2,"subscribers":1}}]}}"#
        );
        let list: PartitionList = serde_json::from_str(&text).unwrap();
        let told = describe(&list);
        assert_eq!(told, "mode partitioned, 1 partition, 2 members, generation 3; without a partition: b");
        assert!(!table(&list).is_empty());
    }
}
