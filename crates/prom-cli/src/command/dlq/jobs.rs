//! `prom dlq jobs`: how replays and purges are doing; pausing, resuming and cancelling them.

use clap::{Args, Subcommand};
use prom_protocol::http::dlq::{LetterJobKind, LetterJobList, LetterJobStateView, LetterJobView, LetterJobsQuery};
use prom_types::EventId;

use super::{age, short};
use crate::cli::Context;
use crate::command::partly;
use crate::exit::CommandResult;
use crate::output::{Align, Table, counted};

/// Show the progress of replays and purges; pause, resume and cancel them
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Outcomes: acked means that the group settled the event; waiting, not yet; dead again, that it became a dead letter \
again.

Examples:
  prom dlq jobs
  prom dlq jobs 0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f
  prom dlq jobs pause 0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f
  prom dlq jobs resume 0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f"
)]
pub struct LetterJobsCommand {
    /// Only this job
    #[arg(value_parser = job_id)]
    job: Option<EventId>,
    #[command(subcommand)]
    change: Option<Change>,
}

#[derive(Debug, Subcommand)]
enum Change {
    /// Stop sending until the job is resumed
    #[command(after_help = "\
Examples:
  prom dlq jobs pause 0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f
  prom dlq jobs pause 0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f --json")]
    Pause(JobName),
    /// Continue; after a stop because of failures, send the rest regardless of failures
    #[command(after_help = "\
Examples:
  prom dlq jobs resume 0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f
  prom dlq jobs resume 0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f --json")]
    Resume(JobName),
    /// Cancel the job; events that were sent stay sent
    #[command(after_help = "\
Examples:
  prom dlq jobs cancel 0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f
  prom dlq jobs cancel 0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f --json")]
    Cancel(JobName),
}

#[derive(Debug, Args)]
struct JobName {
    /// Id of the job
    #[arg(value_parser = job_id)]
    job: EventId,
}

fn job_id(text: &str) -> Result<EventId, String> {
    EventId::parse(text).map_err(|_| "the id of a job is a UUID; `prom dlq jobs` shows them".to_owned())
}

impl LetterJobsCommand {
    pub async fn run(self, context: &Context) -> CommandResult {
        let hub = context.hub()?;
        let (job, change) = match (self.job, self.change) {
            (None, None) => {
                let answer = hub.get(&["dlq", "jobs"], &LetterJobsQuery::default()).await?;
                let list: LetterJobList = answer.parse()?;
                if list.hidden {
                    partly::shown("jobs", list.jobs.len())?;
                }
                return context.show(&answer, |list: LetterJobList| show_list(context, &list.jobs));
            }
            (Some(job), _) => {
                let answer = hub.get(&["dlq", "jobs", &job.to_string()], &()).await?;
                return context.show(&answer, |job: LetterJobView| show_list(context, &[job]));
            }
            (None, Some(Change::Pause(name))) => (name.job, "pause"),
            (None, Some(Change::Resume(name))) => (name.job, "resume"),
            (None, Some(Change::Cancel(name))) => (name.job, "cancel"),
        };
        let answer = hub.post(&["dlq", "jobs", &job.to_string(), change], &()).await?;
        context.show(&answer, |job: LetterJobView| {
            context.output.line(format!("job {} is {}: {} done", job.job, state(&job), counted(job.replayed, "letter")))
        })
    }
}

fn show_list(context: &Context, jobs: &[LetterJobView]) -> CommandResult {
    let mut table = Table::new([
        ("JOB", Align::Left),
        ("BEGAN", Align::Right),
        ("BY", Align::Left),
        ("WHAT", Align::Left),
        ("TOPIC", Align::Left),
        ("STATE", Align::Left),
        ("DONE", Align::Right),
        ("SKIPPED", Align::Right),
        ("LEFT", Align::Right),
        ("ACKED", Align::Right),
        ("WAITING", Align::Right),
        ("DEAD AGAIN", Align::Right),
        ("REASON", Align::Left),
    ]);
    for job in jobs {
        let what = match job.kind {
            LetterJobKind::Replay => "replay",
            LetterJobKind::GiveBack => "give back",
            LetterJobKind::Purge => "purge",
        };
        table.row([
            job.job.to_string(),
            age(job.created_ts),
            job.by.as_deref().map_or_else(String::new, |by| short(by, 30)),
            what.to_owned(),
            job.topic.to_string(),
            state(job).to_owned(),
            job.replayed.to_string(),
            job.skipped.to_string(),
            job.left.to_string(),
            job.outcome.acked.to_string(),
            job.outcome.waiting.to_string(),
            job.outcome.dead_again.to_string(),
            job.reason.as_deref().map_or_else(String::new, |reason| short(reason, 100)),
        ]);
    }
    if table.is_empty() {
        return context.output.line("no replays and no purges yet");
    }
    context.output.table(&table.without_if_empty("BY").without_if_empty("REASON"))
}

fn state(job: &LetterJobView) -> &'static str {
    match job.state {
        LetterJobStateView::Running => "running",
        LetterJobStateView::Canary => "waits for its canary",
        LetterJobStateView::Paused => "paused",
        LetterJobStateView::Stopped => "stopped",
        LetterJobStateView::Done => "done",
        LetterJobStateView::Cancelled => "cancelled",
    }
}
