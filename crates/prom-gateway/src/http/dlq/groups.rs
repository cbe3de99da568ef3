//! `GET /dlq/groups`: dead letters by topic and kind of error.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_jobs::{LetterErrors, LetterFilter, LetterSummary};
use prom_protocol::http::dlq::{
    LetterErrorView, LetterErrorsList, LetterErrorsQuery, LetterGroupCount, LetterTopicView, LetterView,
};
use prom_types::TopicName;

use super::{MASKED, letter_view, readable};
use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::Params;
use crate::http::limits::{LETTER_SAMPLES, LETTER_TOPICS, LETTERS_HELD_BYTES};
use crate::http::problem::{Problem, Problems};

#[utoipa::path(
    get,
    path = "/dlq/groups",
    operation_id = "listLetterErrors",
    tag = "dead letters",
    summary = "Count dead letters by kind of error",
    description = "Counts are exact. An error's kind is its text without numbers, ids and quoted parts. Needs the right to \
                   operate the topic, or to read its letters; the samples need the latter.",
    params(LetterErrorsQuery),
    responses((status = 200, description = "The counts", body = LetterErrorsList), Problems),
)]
pub(in crate::http) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(LetterErrorsQuery { topic }): Params<LetterErrorsQuery>,
) -> Result<Json<LetterErrorsList>, Problem> {
    if let Some(topic) = topic {
        may_count(&caller, &topic)?;
        let may_read = readable(&caller, &topic).is_ok();
        let summary = api.letters.summary(&topic).await?;
        let mut view = counted(&api, &caller, summary.clone()).await?;
        let sees_whole = caller.mask(&api.hub, &topic).await?.is_none();
        if may_read && sees_whole {
            add_samples(&api, &caller, &summary, &mut view).await?;
        }
        return Ok(Json(LetterErrorsList { topics: vec![view], hidden: false, omitted: 0 }));
    }
    let mut topics = api.letters.topics().await?;
    let all = topics.len();
    topics.retain(|topic| may_count(&caller, topic).is_ok());
    let hidden = topics.len() < all;
    let omitted = topics.len().saturating_sub(LETTER_TOPICS) as u64;
    topics.truncate(LETTER_TOPICS);
    let mut views = Vec::with_capacity(topics.len());
    for topic in topics {
        views.push(counted(&api, &caller, api.letters.summary(&topic).await?).await?);
    }
    views.retain(|view| view.count > 0);
    Ok(Json(LetterErrorsList { topics: views, hidden, omitted }))
}

/// Who operates a topic, or reads its letters.
fn may_count(caller: &Caller, topic: &TopicName) -> Result<(), Problem> {
    let operates = caller.may(Action::Ops, topic);
    if operates.is_ok() || readable(caller, topic).is_ok() { Ok(()) } else { operates }
}

/// The counts, without the patterns of errors where parts of the originals are hidden from the caller: they may quote them.
async fn counted(api: &Api, caller: &Caller, summary: LetterSummary) -> Result<LetterTopicView, Problem> {
    let mask = caller.mask(&api.hub, &summary.topic).await?;
    let mut view = topic_view(summary);
    if mask.is_some() {
        view.errors.iter_mut().for_each(|error| error.pattern = MASKED.to_owned());
    }
    Ok(view)
}

/// The last letter of each kind, where the most letters are.
async fn add_samples(
    api: &Api,
    caller: &Caller,
    summary: &LetterSummary,
    view: &mut LetterTopicView,
) -> Result<(), Problem> {
    let _share = api.budget.take(caller.holder(), LETTERS_HELD_BYTES)?;
    let mut wanted: Vec<_> = summary.errors.iter().take(LETTER_SAMPLES).map(|errors| errors.sample).collect();
    wanted.sort_unstable();
    if wanted.is_empty() {
        return Ok(());
    }
    let filter = LetterFilter { places: Some(wanted), ..LetterFilter::default() };
    let page = api.letters.page(&summary.topic, &filter, None, LETTER_SAMPLES).await?;
    let mut samples: Vec<LetterView> = page.letters.into_iter().map(letter_view).collect();
    for (errors, view) in summary.errors.iter().zip(&mut view.errors) {
        let is_it = |letter: &LetterView| (letter.partition, letter.offset) == errors.sample;
        view.sample = samples.iter().position(is_it).map(|at| Box::new(samples.swap_remove(at)));
    }
    Ok(())
}

fn topic_view(summary: LetterSummary) -> LetterTopicView {
    let LetterSummary { topic, totals, errors } = summary;
    let errors = errors.into_iter().map(error_view).collect();
    LetterTopicView { topic, count: totals.count, replayed: totals.replayed, errors }
}

fn error_view(errors: LetterErrors) -> LetterErrorView {
    let mut groups: Vec<LetterGroupCount> =
        errors.groups.into_iter().map(|(group, count)| LetterGroupCount { group, count }).collect();
    groups.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.group.cmp(&b.group)));
    LetterErrorView {
        fingerprint: errors.fingerprint,
        pattern: errors.pattern,
        count: errors.count,
        replayed: errors.replayed,
        first_ts: errors.first_ts,
        last_ts: errors.last_ts,
        groups,
        other_groups: errors.other_groups,
        sample: None,
    }
}
