//! `prom groups set`: changes what a group agreed on.

use std::time::Duration;

use clap::Args;
use prom_types::{GroupName, TopicPattern};
use serde::Serialize;

use super::{Group, show};
use crate::cli::Context;
use crate::command::names;
use crate::exit::Outcome;
use crate::units::parse_duration;

/// Change attempts, backoff or expiry of a group; what is not named stays as it is
#[derive(Debug, Args)]
#[command(after_help = "\
Order, filter and where the group began are kept for life; delete the group to choose anew.

Examples:
  prom groups set billing --max-attempts 10
  prom groups set test-run-17 --expire-after 1d")]
pub struct Set {
    /// Its name
    #[arg(value_parser = names::group)]
    group: GroupName,
    /// Only what was agreed on for this topic or pattern
    #[arg(long, value_name = "TOPIC", value_parser = names::pattern)]
    topic: Option<TopicPattern>,
    /// Failed attempts until an event goes to the dead letters
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// The wait after the first failure; it doubles with each further one
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, requires = "backoff_max")]
    backoff_first: Option<Duration>,
    /// The longest wait
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, requires = "backoff_first")]
    backoff_max: Option<Duration>,
    /// Delete the group when nobody subscribed for so long; `never` for no
    #[arg(long, value_name = "DURATION", value_parser = expiry)]
    expire_after: Option<Expiry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expiry {
    Never,
    After(Duration),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Change<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<&'a TopicPattern>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backoff: Option<Backoff>,
    /// `null` is a value: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    expire_after_ms: Option<Option<u64>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Backoff {
    first_ms: u64,
    max_ms: u64,
}

impl Set {
    pub async fn run(self, context: &Context) -> Outcome {
        let change = Change {
            topic: self.topic.as_ref(),
            max_attempts: self.max_attempts,
            backoff: self
                .backoff_first
                .zip(self.backoff_max)
                .map(|(first, max)| Backoff { first_ms: millis(first), max_ms: millis(max) }),
            expire_after_ms: self.expire_after.map(|expiry| match expiry {
                Expiry::Never => None,
                Expiry::After(duration) => Some(millis(duration)),
            }),
        };
        let answer = context.hub()?.patch(&["groups", self.group.as_str()], &change).await?;
        match context.output.is_for_machines() {
            true => context.output.line(answer.text.trim_end()),
            false => show(context, &answer.parse::<Group>()?),
        }
    }
}

fn expiry(text: &str) -> Result<Expiry, String> {
    match text {
        "never" => Ok(Expiry::Never),
        text => parse_duration(text).map(Expiry::After),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
