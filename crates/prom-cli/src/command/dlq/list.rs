//! `prom dlq ls`: letters of a topic, newest first.

use clap::Args;
use prom_protocol::http::dlq::{LetterStandingView, LetterView, LettersQuery, LettersView, ReplayOutcomeView};

use super::choice::LetterChoice;
use super::{age, short};
use crate::cli::Context;
use crate::exit::CommandResult;
use crate::output::{Align, Table, note};

/// List letters of a topic, newest first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prom dlq ls orders.placed
  prom dlq ls orders.placed --group billing --err timeout --from -1h
  prom dlq ls orders.placed --where '.payload.customer == 4711'
  prom dlq ls orders.placed --open --limit 1000 --json")]
pub struct ListLetters {
    #[command(flatten)]
    choice: LetterChoice,
    /// Only letters that were not replayed
    #[arg(long, conflicts_with = "replayed")]
    open: bool,
    /// Only letters that were replayed
    #[arg(long)]
    replayed: bool,
    /// At most this many letters, up to 1000
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Continue after the previous page, with the value that it printed
    #[arg(long, value_name = "NEXT")]
    next: Option<String>,
}

impl ListLetters {
    pub async fn run(self, context: &Context) -> CommandResult {
        let LetterChoice { topic, group, key, err, fingerprint, jq, from_ts, to_ts } = self.choice;
        let standing = match (self.open, self.replayed) {
            (true, _) => Some(LetterStandingView::Open),
            (_, true) => Some(LetterStandingView::Replayed),
            (false, false) => None,
        };
        let query = LettersQuery {
            topic: Some(topic.clone()),
            group,
            err,
            fingerprint,
            key,
            jq,
            id: None,
            from_ts,
            to_ts,
            standing,
            limit: Some(self.limit),
            next: self.next,
        };
        let answer = context.hub()?.get(&["dlq"], &query).await?;
        context.show(&answer, |page: LettersView| {
            if page.letters.is_empty() && page.next.is_none() {
                return context.output.line(format!("{topic} has no such letters"));
            }
            context.output.table(&table(&page.letters))?;
            if let Some(next) = page.next {
                note(format!("there may be more: add --next {next}"));
            }
            Ok(())
        })
    }
}

fn table(letters: &[LetterView]) -> Table {
    let mut table = Table::new([
        ("LETTER", Align::Left),
        ("WRITTEN", Align::Right),
        ("GROUP", Align::Left),
        ("KEY", Align::Left),
        ("DIED", Align::Right),
        ("SINCE THEN", Align::Left),
        ("ERROR", Align::Left),
    ]);
    for letter in letters {
        table.row([
            letter.id.to_string(),
            age(letter.ts),
            letter.group.to_string(),
            letter.key.as_deref().map_or_else(String::new, |key| short(key, 40)),
            times(letter.deaths),
            since_then(letter).to_owned(),
            short(&letter.err, 100),
        ]);
    }
    table.without_if_empty("KEY")
}

pub fn times(deaths: u16) -> String {
    match deaths {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        many => format!("{many} times"),
    }
}

pub fn since_then(letter: &LetterView) -> &'static str {
    match letter.replay.as_ref().map(|replay| replay.outcome) {
        None => "open",
        Some(ReplayOutcomeView::Waiting) => "replayed, waiting",
        Some(ReplayOutcomeView::Acked) => "replayed, acked",
        Some(ReplayOutcomeView::DeadAgain) => "replayed, dead again",
    }
}
