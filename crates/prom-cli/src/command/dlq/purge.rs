//! `prom dlq purge`: counts what will go, asks, and takes letters out of every list and count.

use std::io::{BufRead, IsTerminal, Write};

use clap::Args;
use prom_protocol::http::dlq::{LettersDone, PurgeLetters};
use prom_types::TopicName;

use super::choice::{LetterChoice, NamedLetters};
use super::replay::{show_done, until_done};
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::output::counted;

/// Remove letters from every list and count
#[derive(Debug, Args)]
#[command(after_help = "\
It first counts the letters. On a terminal it asks for the name of the topic; elsewhere it needs --yes. Purged \
letters are never replayed. Their space is freed by the retention of dlq.TOPIC; to delete all letters and their \
content at once, delete that topic: prom topics delete dlq.TOPIC. system.audit records the caller.

Examples:
  prom dlq purge orders.placed --fingerprint 5d41402abc4b2a76 --dry-run
  prom dlq purge orders.placed --group billing --to -7d
  prom dlq purge orders.placed --all --yes")]
pub struct PurgeCommand {
    #[command(flatten)]
    choice: LetterChoice,
    #[command(flatten)]
    named: NamedLetters,
    /// All letters of the topic
    #[arg(long)]
    all: bool,
    /// Only count the letters
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl PurgeCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        let names_some = !self.choice.is_all() || !self.named.ids.is_empty();
        if names_some == self.all {
            let wrong = if self.all { "--all goes with no other choice" } else { "say which letters" };
            return Err(Failure::usage(wrong)
                .fix("choose by --group, --err, --fingerprint, --key, --where, --from, --to or --id; or --all"));
        }
        let hub = context.hub()?;
        let LetterChoice { topic, group, key, err, fingerprint, jq, from_ts, to_ts } = self.choice;
        let ids = self.named.ids;
        let purge = |dry_run| PurgeLetters {
            topic: topic.clone(),
            group: group.clone(),
            key: key.clone(),
            err: err.clone(),
            fingerprint: fingerprint.clone(),
            jq: jq.clone(),
            from_ts,
            to_ts,
            ids: ids.clone(),
            limit: None,
            dry_run,
        };
        let answer = hub.post(&["dlq", "purge"], &purge(true)).await?;
        let going: LettersDone = answer.parse()?;
        if self.dry_run {
            return context.show(&answer, |going: LettersDone| {
                context.output.line(format!("{} of {topic} would go", described(&going)))
            });
        }
        if going.matched == 0 {
            return Err(Failure::no(format!("{topic} has no such letters")));
        }
        if !self.yes {
            ask(&topic, &going)?;
        }
        let answer = hub.post(&["dlq", "purge"], &purge(false)).await?;
        let done = until_done(&hub, answer.parse()?).await?;
        show_done(context, &done, "purged")
    }
}

fn described(going: &LettersDone) -> String {
    match going.more {
        true => format!("more than {}", counted(going.matched, "letter")),
        false => counted(going.matched, "letter"),
    }
}

/// Nothing is purged unless somebody types the name.
fn ask(topic: &TopicName, going: &LettersDone) -> CommandResult {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage("nothing was purged: there is no terminal to ask for confirmation")
            .fix("add --yes, or check first with --dry-run"));
    }
    let question = format!("{} of {topic} will be purged. Type the name of the topic to confirm: ", described(going));
    let unread = |error: std::io::Error| Failure::usage(format!("nothing was purged: {error}"));
    let mut terminal = std::io::stderr();
    terminal.write_all(question.as_bytes()).and_then(|()| terminal.flush()).map_err(unread)?;
    let mut typed = String::new();
    std::io::stdin().lock().read_line(&mut typed).map_err(unread)?;
    if typed.trim() == topic.as_str() { Ok(()) } else { Err(Failure::no("nothing was purged")) }
}
