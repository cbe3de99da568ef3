//! `/dlq`: dead letters. Reading them needs the right to subscribe to `dlq.<topic>`; who operates a topic sees how many there
//! are, and of what kind.

pub(super) mod groups;
mod indexed;
pub(super) mod jobs;
pub(super) mod list;
pub(super) mod purge;
pub(super) mod replay;

use prom_auth::Action;
use prom_engine::{TopicMask, TopicOffsets};
use prom_jobs::{FoundLetter, LetterJobState, LetterReplay, ReplayOutcome};
use prom_protocol::http::dlq::{LetterJobStateView, LetterReplayView, LetterView, ReplayOutcomeView};
use prom_types::{Invalid, Json, TopicName};

use super::api::Api;
use super::caller::Caller;
use super::problem::Problem;

/// The letters of a topic, for a caller that may read them.
fn readable(caller: &Caller, topic: &TopicName) -> Result<TopicName, Problem> {
    let reserved = || Invalid::ReservedTopic { name: topic.to_string() };
    let letters = topic.dead_letters().ok_or_else(|| Problem::from(reserved()).with_field("topic"))?;
    caller.may(Action::Subscribe, &letters)?;
    Ok(letters)
}

/// For a caller that chooses letters by their errors: how many there are tells what is in them.
async fn may_look_into(api: &Api, caller: &Caller, topic: &TopicName) -> Result<(), Problem> {
    readable(caller, topic)?;
    match caller.mask(&api.hub, topic).await? {
        Some(_) => Err(hidden_parts(caller, topic)),
        None => Ok(()),
    }
}

/// What stands for an error that may quote what is hidden.
const MASKED: &str = "[masked]";

/// The letter as one sees it from whom parts of the originals are hidden. The error goes with them: it may quote them.
fn seen(letter: LetterView, mask: Option<&TopicMask>) -> LetterView {
    let Some(mask) = mask else {
        return letter;
    };
    let original = match mask.seen_text(letter.original.as_bytes()) {
        Some(text) => Json::trusted(text.into()),
        None => letter.original,
    };
    LetterView { original, err: MASKED.to_owned(), ..letter }
}

/// The refusal of what only those may do who see the topic's events whole.
fn hidden_parts(caller: &Caller, topic: &TopicName) -> Problem {
    caller.forbidden(Action::Admin, &format!("{topic}, parts of which are hidden by its mask"))
}

fn letter_view(letter: FoundLetter) -> LetterView {
    LetterView {
        id: letter.id,
        partition: letter.partition,
        offset: letter.offset,
        ts: letter.stored_ts,
        group: letter.group,
        err: letter.err,
        fingerprint: letter.fingerprint,
        attempts: letter.attempts,
        deaths: letter.deaths,
        key: letter.key,
        original: letter.original,
        replay: letter.replay.map(replay_view),
    }
}

fn replay_view(replay: LetterReplay) -> LetterReplayView {
    let LetterReplay { job, by, at, edited, outcome } = replay;
    let outcome = match outcome {
        ReplayOutcome::Waiting => ReplayOutcomeView::Waiting,
        ReplayOutcome::Acked => ReplayOutcomeView::Acked,
        ReplayOutcome::DeadAgain => ReplayOutcomeView::DeadAgain,
    };
    LetterReplayView { job, by, ts: at, edited, outcome }
}

fn read_next(text: &str) -> Result<TopicOffsets, Problem> {
    TopicOffsets::parse(text).ok_or_else(|| Problem::field("next", "is not from an earlier page of this topic"))
}

fn state_view(state: LetterJobState) -> LetterJobStateView {
    match state {
        LetterJobState::Running => LetterJobStateView::Running,
        LetterJobState::Canary => LetterJobStateView::Canary,
        LetterJobState::Paused => LetterJobStateView::Paused,
        LetterJobState::Stopped => LetterJobStateView::Stopped,
        LetterJobState::Done => LetterJobStateView::Done,
        LetterJobState::Cancelled => LetterJobStateView::Cancelled,
    }
}
