//! Which rows in error: the flags that `requeue` and `drop` share.

use clap::Args;
use prom_protocol::http::flows::{ActedFlow, ChooseFlowRows};

use crate::exit::{CommandResult, Failure};
use crate::output::note;

/// Rows that the hub takes at once unless told otherwise.
const ROWS_AT_ONCE: usize = 1000;

#[derive(Debug, Args)]
pub struct RowChoice {
    /// Its name, as in prom.toml
    pub name: String,
    /// Only the row with this id; may be given several times
    #[arg(long = "id", value_name = "ID")]
    ids: Vec<String>,
    /// Only rows of this topic
    #[arg(long, value_name = "TOPIC")]
    topic: Option<String>,
    /// Only rows of this key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// All rows in error
    #[arg(long)]
    all: bool,
    /// At most this many rows, the oldest first, up to 10000
    #[arg(long, value_name = "N", default_value_t = ROWS_AT_ONCE)]
    limit: usize,
}

impl RowChoice {
    pub fn read(&self) -> Result<ChooseFlowRows, Failure> {
        let choice = ChooseFlowRows {
            ids: self.ids.clone(),
            topic: self.topic.clone(),
            key: self.key.clone(),
            all: self.all,
            limit: Some(self.limit),
        };
        if choice.names_some() == self.all {
            let wrong = if self.all { "--all goes with no other choice" } else { "say which rows" };
            return Err(Failure::usage(wrong).fix("choose by --id, --topic or --key; or --all"));
        }
        Ok(choice)
    }

    /// Ends well if there were such rows, and tells if there may be more.
    pub fn judge(&self, acted: &ActedFlow) -> CommandResult {
        match acted.rows {
            Some(0) => Err(Failure::no("no such row is in error")
                .fix(format!("`prom outbox rows {} --status error` lists those that are", self.name))),
            Some(rows) if rows >= self.limit as u64 => {
                note("there may be more: run it again");
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
