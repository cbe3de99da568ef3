//! `prom dlq replay`: hands the events of letters out again, with progress until they are sent.

use std::time::Duration;

use clap::Args;
use prom_protocol::http::dlq::{
    LetterJobStateView, LetterJobView, LettersDone, ReplayLetters, ReplayTo, TriedLetterView,
};
use prom_types::Json;

use super::choice::{LetterChoice, NamedLetters};
use super::short;
use crate::cli::Context;
use crate::exit::{CommandResult, Failure};
use crate::hub::HubClient;
use crate::output::{Progress, counted, note};
use crate::signals::Signals;

/// Between two looks at a job.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Publish the events of letters again
#[derive(Debug, Args)]
#[command(after_help = "\
Letters are replayed oldest first, each once. An event keeps key, headers, session and time; its new id is derived \
from the letter's, and the letter's id is added to its causes. Every group of the topic gets it. --jq is a program \
over the whole original event; its output is checked against the schema before anything is sent, and if it has no \
output the letter stays as it is.

With --to-group the original event is redelivered, at its offset, to that group alone. This also resumes parked \
keys: once all their letters are given back and handled, they are no longer parked.

The hub does the work: Ctrl-C only stops watching. `prom dlq jobs` shows progress and outcome, and pauses, resumes \
and cancels jobs. system.audit records the caller.

Examples:
  prom dlq replay orders.placed --group billing --dry-run
  prom dlq replay orders.placed --fingerprint 5d41402abc4b2a76 --jq '.payload.amount |= tonumber'
  prom dlq replay orders.placed --limit 1000000 --canary 10 --stop-on-failure 5 --rate 500
  prom dlq replay orders.placed --group billing --key 7 --to-group
  prom dlq replay orders.placed --id 0190b6ef-8f5c-5cc3-98c4-dc0c0c07398f --payload '{\"sum\":5}'")]
pub struct ReplayLettersCommand {
    #[command(flatten)]
    choice: LetterChoice,
    #[command(flatten)]
    named: NamedLetters,
    /// Redeliver the events only to the group that gave up on them; needs --group
    #[arg(long, requires = "group", conflicts_with_all = ["transform", "payload"])]
    to_group: bool,
    /// At most this many letters
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: u64,
    /// A jq program that repairs each event
    #[arg(long = "jq", value_name = "PROGRAM", conflicts_with = "payload")]
    transform: Option<String>,
    /// A new payload for the event of a single letter
    #[arg(long, value_name = "JSON", requires = "ids")]
    payload: Option<String>,
    /// Skip letters whose event the program cannot repair or the hub refuses
    #[arg(long)]
    skip_unfit: bool,
    /// Only show what would be sent
    #[arg(long)]
    dry_run: bool,
    /// Events a second
    #[arg(long, value_name = "N")]
    rate: Option<u32>,
    /// Send this many first, and the rest only if these are acked
    #[arg(long, value_name = "N")]
    canary: Option<u64>,
    /// Stop when more than this percentage of the events died again
    #[arg(long, value_name = "PERCENT")]
    stop_on_failure: Option<u8>,
    /// Do not wait until the events are sent
    #[arg(long)]
    detach: bool,
}

impl ReplayLettersCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        let payload = self.payload.as_deref().map(payload).transpose()?;
        let LetterChoice { topic, group, key, err, fingerprint, jq, from_ts, to_ts } = self.choice;
        let request = ReplayLetters {
            topic,
            group,
            key,
            err,
            fingerprint,
            jq,
            from_ts,
            to_ts,
            ids: self.named.ids,
            to: if self.to_group { ReplayTo::Group } else { ReplayTo::Topic },
            limit: Some(self.limit),
            transform: self.transform,
            payload,
            skip_unfit: self.skip_unfit,
            dry_run: self.dry_run,
            rate: self.rate,
            canary: self.canary,
            stop_on_failure: self.stop_on_failure,
        };
        let hub = context.hub()?;
        let answer = hub.post(&["dlq", "replay"], &request).await?;
        if self.dry_run {
            return context.show(&answer, |tried: LettersDone| show_trial(context, &tried));
        }
        let mut done: LettersDone = answer.parse()?;
        if !self.detach {
            done = until_done(&hub, done).await?;
        }
        show_done(context, &done, if self.to_group { "given back" } else { "replayed" })
    }
}

fn payload(text: &str) -> Result<Json, Failure> {
    Json::parse(text.to_owned()).map_err(|error| Failure::usage(format!("--payload: {error}")))
}

/// Watches a job until it is at rest.
pub async fn until_done(hub: &HubClient, mut done: LettersDone) -> Result<LettersDone, Failure> {
    let Some(job) = done.job.filter(|_| is_under_way(done.state)) else {
        return Ok(done);
    };
    let job = job.to_string();
    let progress = Progress::events("working on letters");
    let mut signals = Signals::listen()?;
    while is_under_way(done.state) {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = signals.next() => {
                return Err(Failure::no(format!("no longer watching: job {job} continues"))
                    .fix(format!("`prom dlq jobs {job}` shows its progress, `prom dlq jobs cancel {job}` cancels it")));
            }
        }
        let now: LetterJobView = hub.get(&["dlq", "jobs", &job], &()).await?.parse()?;
        progress.is_at(now.matched, now.left);
        if now.state == LetterJobStateView::Canary {
            let outcome = now.outcome;
            progress.now_at(&format!("waiting for {} of the canary, {} acked", outcome.waiting, outcome.acked));
        }
        done = LettersDone {
            matched: now.matched,
            replayed: now.replayed,
            skipped: now.skipped,
            state: Some(now.state),
            reason: now.reason,
            ..done
        };
    }
    Ok(done)
}

fn is_under_way(state: Option<LetterJobStateView>) -> bool {
    matches!(state, Some(LetterJobStateView::Running | LetterJobStateView::Canary))
}

/// Says what was done; exit code 1 where nothing matched, or the job did not come to its end.
pub fn show_done(context: &Context, done: &LettersDone, what: &str) -> CommandResult {
    if context.output.is_for_machines() {
        context.output.json(done)?;
    } else {
        if let (true, Some(job)) = (is_under_way(done.state), done.job) {
            let watch = format!("`prom dlq jobs {job}` shows its progress");
            return context.output.line(format!("job {job} is running; {watch}"));
        }
        let skipped = if done.skipped > 0 { format!(", {} skipped", done.skipped) } else { String::new() };
        let job = done.job.map_or_else(String::new, |job| format!("; job {job}"));
        context.output.line(format!("{} {what}{skipped}{job}", counted(done.replayed, "letter")))?;
    }
    match (done.state, &done.reason, done.job) {
        (Some(LetterJobStateView::Stopped), reason, Some(job)) => {
            let reason = reason.clone().unwrap_or_default();
            Err(Failure::no(format!("the job stopped: {reason}"))
                .fix(format!("replay the rest with --jq, or continue regardless with `prom dlq jobs resume {job}`")))
        }
        (Some(LetterJobStateView::Paused | LetterJobStateView::Cancelled), ..) => {
            Err(Failure::no("the job was paused or cancelled before its end"))
        }
        _ if done.matched == 0 && !is_under_way(done.state) => Err(Failure::no("no letter matched")),
        _ => Ok(()),
    }
}

fn show_trial(context: &Context, tried: &LettersDone) -> CommandResult {
    for letter in &tried.would_send {
        context.output.line(told(letter))?;
    }
    let more = if tried.more { "; there are more letters, of which the first thousand were tried" } else { "" };
    context.output.line(format!(
        "{} would be sent, {} skipped{more}",
        counted(tried.replayed, "event"),
        tried.skipped
    ))?;
    if let Some(reason) = &tried.reason {
        note(format!("not all fit: {}", short(reason, 300)));
    }
    Ok(())
}

/// What was and what would be, where they differ.
fn told(letter: &TriedLetterView) -> String {
    let TriedLetterView { letter, original, payload, edited, unfit } = letter;
    match (payload, unfit) {
        (_, Some(reason)) => format!("{letter}  does not fit: {}", short(reason, 200)),
        (None, None) => format!("{letter}  is left as it is"),
        (Some(payload), None) if *edited => {
            format!("{letter}\n  - {}\n  + {}", short(original.as_str(), 300), short(payload.as_str(), 300))
        }
        (Some(payload), None) => format!("{letter}  {}", short(payload.as_str(), 200)),
    }
}
