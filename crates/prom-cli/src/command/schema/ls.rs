//! `prom schema ls`: topics that have schemas.

use clap::Args;
use prom_protocol::http::registry::{RegistryTopic, RegistryView};

use super::settings;
use crate::cli::Context;
use crate::command::partly;
use crate::exit::CommandResult;
use crate::moment;
use crate::output::{Align, Table};
use crate::units::show_age;

/// List the topics that have schemas
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom schema ls
  prom schema ls --json")]
pub struct Ls {}

impl Ls {
    pub async fn run(self, context: &Context) -> CommandResult {
        let answer = context.hub()?.get(&["registry"], &()).await?;
        let view: RegistryView = answer.parse()?;
        if view.hidden {
            partly::shown("topics with schemas", view.topics.len())?;
        }
        context.show(&answer, |view: RegistryView| show(context, view))
    }
}

fn show(context: &Context, view: RegistryView) -> CommandResult {
    if view.topics.is_empty() {
        return context.output.line("no schemas yet; `prom schema register TOPIC FILE` registers one");
    }
    let mut table = Table::new([
        ("TOPIC", Align::Left),
        ("LATEST", Align::Right),
        ("VERSIONS", Align::Left),
        ("ID", Align::Right),
        ("REGISTERED", Align::Right),
        ("COMPATIBILITY", Align::Left),
        ("UPCASTERS", Align::Left),
    ]);
    let or_dash = |number: Option<u32>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    for topic in view.topics {
        let age = |ts: i64| format!("{} ago", show_age(moment::now_ms().saturating_sub(ts).max(0).unsigned_abs()));
        table.row([
            topic.topic.to_string(),
            or_dash(topic.latest),
            listed(&topic.versions),
            or_dash(topic.latest_id),
            topic.latest_ts.map_or_else(|| "-".to_owned(), age),
            format!("{}, {}", topic.compat, topic.policy),
            steps(&topic),
        ]);
    }
    context.output.table(&table.without_if_empty("UPCASTERS"))?;
    context.output.line(format!("where a topic sets nothing: {}", settings::in_words(&view.settings)))
}

fn listed(versions: &[u32]) -> String {
    match versions {
        [] => "-".to_owned(),
        [first, .., last] if last - first == versions.len() as u32 - 1 => format!("{first}-{last}"),
        versions => versions.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn steps(topic: &RegistryTopic) -> String {
    topic.upcasters.iter().map(|from| format!("{from}→{}", from.saturating_add(1))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_without_a_hole_are_a_range() {
        assert_eq!(listed(&[]), "-");
        assert_eq!(listed(&[3]), "3");
        assert_eq!(listed(&[1, 2, 3]), "1-3");
        assert_eq!(listed(&[1, 3]), "1, 3");
    }
}
