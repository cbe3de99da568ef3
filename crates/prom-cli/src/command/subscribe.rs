//! `prom sub`: events as lines of JSON, for looking or for working.

use clap::Args;
use prom_types::{GroupName, TopicPattern};

use super::names;
use crate::cli::Context;
use crate::exit::{Failure, Outcome};
use crate::position::StartFrom;

/// Print events as they come, one per line
#[derive(Debug, Args)]
#[command(after_help = "\
Without --group it only looks. With --group it takes part in the group's work: each event is acknowledged after its \
line was written, and --from is used only when the group is made.
--from is latest, earliest, offset:N, after:ID or ts:TIME, where a time is epoch milliseconds, 2030-01-31T12:00:00Z, or \
-15m for a quarter of an hour ago.

Examples:
  prom sub hello --from earliest
  prom sub 'orders.*' --jq '.payload.total'
  prom sub orders.placed --group billing --count 10
  prom sub '**' --from ts:-15m")]
pub struct Subscribe {
    /// A topic, or a pattern such as 'orders.*' or '**'
    #[arg(value_name = "TOPIC", value_parser = names::pattern)]
    topic: TopicPattern,
    /// Work in this group: acknowledge what was printed
    #[arg(long, value_name = "GROUP", value_parser = names::group)]
    group: Option<GroupName>,
    /// Where to begin
    #[arg(long, value_name = "WHERE", default_value = "latest")]
    from: StartFrom,
    /// End after so many events
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print what this jq program makes of each event
    #[arg(long, value_name = "PROGRAM")]
    jq: Option<String>,
}

impl Subscribe {
    pub async fn run(self, _context: &Context) -> Outcome {
        Err(Failure::no("not yet"))
    }
}
