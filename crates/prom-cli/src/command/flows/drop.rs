//! `prom outbox drop`: asks, and lets go of rows in error.

use std::io::{BufRead, IsTerminal, Write};

use clap::Args;
use prom_protocol::http::flows::{ChooseFlowRows, FlowKindView};

use super::change::change;
use super::choice::RowChoice;
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::output::printable;

#[derive(Debug, Args)]
pub struct DropRows {
    #[command(flatten)]
    choice: RowChoice,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl DropRows {
    pub async fn run(self, context: &Context) -> CommandResult {
        let rows = self.choice.read()?;
        if !self.yes {
            ask(&self.choice.name, &rows)?;
        }
        let acted = change(context, FlowKindView::Outbox, &self.choice.name, "drop", &rows).await?;
        self.choice.judge(&acted)
    }
}

fn described(rows: &ChooseFlowRows) -> String {
    let mut text = match rows.ids.len() {
        0 => "All rows in error".to_owned(),
        1 => "1 row".to_owned(),
        many => format!("{many} rows"),
    };
    if let Some(topic) = &rows.topic {
        text.push_str(&format!(" of topic {}", printable(topic)));
    }
    if let Some(key) = &rows.key {
        text.push_str(&format!(" of key {}", printable(key)));
    }
    text
}

/// Nothing is dropped unless somebody types the name.
fn ask(name: &str, rows: &ChooseFlowRows) -> CommandResult {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage("nothing was dropped: there is no terminal to ask for confirmation")
            .fix(format!("add --yes, or check first with `prom outbox rows {name} --status error`")));
    }
    let question = format!("{} will never be published. Type the name of the outbox to drop them: ", described(rows));
    let unread = |error: std::io::Error| Failure::usage(format!("nothing was dropped: {error}"));
    let mut terminal = std::io::stderr();
    terminal.write_all(question.as_bytes()).and_then(|()| terminal.flush()).map_err(unread)?;
    let mut typed = String::new();
    std::io::stdin().lock().read_line(&mut typed).map_err(unread)?;
    if typed.trim() == name { Ok(()) } else { Err(Failure::no("nothing was dropped")) }
}
