//! `prom sub`: events as lines of JSON, for looking or for working.
//!
//! Promise: with a group an event is acknowledged only after its line was written and flushed, so nothing is lost
//! between this command and the reader of its output.

mod look;
mod printer;
mod work;

use clap::Args;
use prom_client::{Client, Notice};
use prom_transform::{Program, ProgramLimits};
use prom_types::{GroupName, Position, TopicPattern};

use self::printer::Printer;
use super::names;
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::output::note;
use crate::position;
use crate::signals::Signals;

/// Print events as they arrive, one per line
#[derive(Debug, Args)]
#[command(after_help = "\
Without --group it prints events and settles nothing. With --group it joins the group: each event is acknowledged \
after its line is written. --from applies when the group is created; later leave it out, or give the same.
--from is latest, earliest, offset:N, after:ID or ts:TIME, where a time is epoch milliseconds, 2030-01-31T12:00:00Z, \
or -15m for a quarter of an hour ago.
With --normalize an event of an older version is upcast, and the header x-upcasted-from names that version. An event \
that cannot be upcast goes to the dead letters of the group; without a group it is printed as it is stored, and the \
header x-upcast-error says why.

Examples:
  prom sub hello --from earliest
  prom sub 'orders.*' --jq '.payload.total'
  prom sub orders.placed --group billing --count 10
  prom sub orders.placed --group billing --park
  prom sub heartbeat.received --normalize --from earliest
  prom sub '**' --from ts:-15m")]
pub struct Subscribe {
    /// A topic, or a pattern such as 'orders.*' or '**'
    #[arg(value_name = "TOPIC", value_parser = names::pattern)]
    topic: TopicPattern,
    /// Join this group, and acknowledge each event after printing it
    #[arg(long, value_name = "GROUP", value_parser = names::group)]
    group: Option<GroupName>,
    /// Keep the order of each key, and stop a key after a dead letter until the letter is given back
    #[arg(long, requires = "group")]
    park: bool,
    /// Where to start [default: latest]
    #[arg(long, value_name = "WHERE", value_parser = position::parse)]
    from: Option<Position>,
    /// Stop after N events
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print events in the latest version of their topic's schema
    #[arg(long)]
    normalize: bool,
    /// Run this jq program on each event and print the results
    #[arg(long, value_name = "PROGRAM")]
    jq: Option<String>,
}

impl Subscribe {
    pub async fn run(self, context: &Context) -> CommandResult {
        let program = self.jq.as_deref().map(|text| Program::compile(text, ProgramLimits::default())).transpose();
        let program = program.map_err(|error| Failure::usage(error.to_string()))?;
        let printer = Printer::new(program, self.count);
        let mut signals = Signals::listen()?;
        let client = tokio::select! {
            client = async { context.hub()?.connect().await } => client?,
            () = signals.next() => return Ok(()),
        };
        let telling = tokio::spawn(tell_notices(client.clone()));
        let outcome = match &self.group {
            None => look::run(&client, &self, printer, &mut signals).await,
            Some(group) => work::run(&client, group, &self, printer, &mut signals).await,
        };
        telling.abort();
        signals.end_at_the_next();
        client.close().await;
        outcome
    }
}

/// Lines on standard error about what the events alone do not tell.
async fn tell_notices(client: Client) {
    let mut notices = client.notices();
    let mut was_lost = false;
    while let Some(notice) = notices.next().await {
        match notice {
            Notice::Disconnected { reason } => {
                was_lost = true;
                note(format!("connection lost, reconnecting: {reason}"));
            }
            Notice::Connected { .. } if was_lost => {
                was_lost = false;
                note("reconnected");
            }
            Notice::Gap { gap, .. } => note(format!(
                "{}/{}: offsets {} to {} are missing: {}",
                gap.topic, gap.partition, gap.from, gap.to, gap.reason
            )),
            Notice::SubscriptionEnded { reason, .. } | Notice::Closed { reason } => {
                note(format!("the subscription has ended: {reason}"))
            }
            _ => {}
        }
    }
}
