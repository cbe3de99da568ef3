//! `prom groups set`: changes the options of a group.

use std::time::Duration;

use clap::Args;
use prom_protocol::http::groups::PatchGroup;
use prom_types::{Backoff, GroupName, TopicPattern};

use super::show;
use crate::cli::Context;
use crate::command::names;
use crate::exit::CommandResult;
use crate::units::{millis, parse_duration};

/// Change attempts, backoff, parking or expiry of a group; options that you leave out do not change
#[derive(Debug, Args)]
#[command(after_help = "\
Order, filter, mode and the starting position cannot change; delete the group and create it again.

Examples:
  prom groups set billing --max-attempts 10
  prom groups set billing --park true
  prom groups set test-run-17 --expire-after 1d")]
pub struct SetGroup {
    /// Name of the group
    #[arg(value_parser = names::group)]
    group: GroupName,
    /// Change only the options for this topic or pattern
    #[arg(long, value_name = "TOPIC", value_parser = names::pattern)]
    topic: Option<TopicPattern>,
    /// Failed attempts before an event goes to the dead letters
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// Wait after the first failure; it doubles with each failure
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, requires = "backoff_max")]
    backoff_first: Option<Duration>,
    /// Longest wait
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, requires = "backoff_first")]
    backoff_max: Option<Duration>,
    /// Whether a key stops when its event becomes a dead letter, from now on; only with order by key
    #[arg(long, value_name = "BOOL")]
    park: Option<bool>,
    /// Delete the group after this long without a subscriber, or `never`
    #[arg(long, value_name = "DURATION", value_parser = expiry)]
    expire_after: Option<Expiry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expiry {
    Never,
    After(Duration),
}

impl SetGroup {
    pub async fn run(self, context: &Context) -> CommandResult {
        let change = PatchGroup {
            topic: self.topic,
            max_attempts: self.max_attempts,
            backoff: self.backoff_first.zip(self.backoff_max).map(|(first, max)| Backoff::new(first, max)),
            park: self.park,
            expire_after_ms: self.expire_after.map(|expiry| match expiry {
                Expiry::Never => None,
                Expiry::After(duration) => Some(millis(duration)),
            }),
            ..PatchGroup::default()
        };
        let answer = context.hub()?.patch(&["groups", self.group.as_str()], &change).await?;
        context.show(&answer, |group| show(context, &group))
    }
}

fn expiry(text: &str) -> Result<Expiry, String> {
    match text {
        "never" => Ok(Expiry::Never),
        text => parse_duration(text).map(Expiry::After),
    }
}
