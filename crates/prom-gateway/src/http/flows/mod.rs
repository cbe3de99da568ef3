//! `/flows`: outboxes, change feeds and projections of this hub.
//!
//! Looking needs `ops` on everything and changing `admin`: what flows read and write is not one topic. Nothing is passed on to
//! another hub: each hub that has a flow in its configuration can be asked to change it. Changes are audited with the caller,
//! and one that has begun is seen through, also if its client leaves.

pub(super) mod drop;
pub(super) mod list;
pub(super) mod rebuild;
pub(super) mod requeue;
pub(super) mod restart;
pub(super) mod rows;
pub(super) mod seek;
pub(super) mod show;

use std::sync::Arc;

use prom_auth::Action;
use prom_engine::TaskName;
use prom_jobs::{Flow, FlowAction, FlowKind, FlowRowQuery, FlowState};
use prom_protocol::http::flows::{
    ActedFlow, ChooseFlowRows, FlowCountsView, FlowFailureView, FlowKindView, FlowRowStatus, FlowStageView,
    FlowStateView, FlowView,
};
use serde_json::{Value, json};

use super::api::Api;
use super::caller::Caller;
use super::limits::{
    FLOW_ANSWER_TIMEOUT, FLOW_ROWS_AUDITED, FLOW_ROWS_CHANGED, FLOW_ROWS_CHANGED_MOST, FLOW_ROWS_MOST,
};
use super::problem::{Code, Problem};

/// The flow of this kind and name, for a caller who may do this to it.
fn find(api: &Api, caller: &Caller, action: Action, kind: FlowKind, name: &str) -> Result<Arc<dyn Flow>, Problem> {
    caller.may_everywhere(action)?;
    api.hub.flows.get(kind, name).ok_or_else(|| {
        let kind = kind.as_str();
        let detail = format!("this hub has no {kind} {name:?}; `GET /flows?kind={kind}` lists those that it has");
        Problem::new(Code::UnknownId, detail)
    })
}

/// What an operator asks of a flow, and how the audit trail tells it.
struct FlowChange {
    flow: Arc<dyn Flow>,
    action: FlowAction,
    audited: &'static str,
    details: Value,
}

/// Asks the flow, after the audit trail knows who did.
async fn change(api: &Api, caller: &Caller, change: FlowChange) -> Result<ActedFlow, Problem> {
    let FlowChange { flow, action, audited, mut details } = change;
    let place = api.flow_changes.take(api, caller)?;
    let (kind, name) = (flow.kind(), flow.name().to_owned());
    details["flow"] = json!(format!("{} {name}", kind.as_str()));
    let mut work = caller.bus(&api.hub).unit_of_work();
    work.audit(audited, details)?;
    work.commit().await?;
    let (task, failures) = (TaskName::one("change of a flow", &name), api.hub.failures().clone());
    let acting = tokio::spawn(async move {
        let _held_to_the_end = place;
        failures.watch(&task, flow.act(action)).await
    });
    let late = || {
        let detail = format!("{} {name} is still working on it; check again in a moment", kind.as_str());
        Problem::new(Code::Overloaded, detail)
    };
    let internal = |reason: String| Problem::new(Code::Internal, reason);
    let acted = tokio::time::timeout(FLOW_ANSWER_TIMEOUT, acting).await.map_err(|_| late())?;
    let acted = acted.map_err(|error| internal(error.to_string()))?;
    let outcome = acted.map_err(|panicked| internal(panicked.reason))??;
    Ok(ActedFlow { kind: kind_view(kind), name, done: outcome.done, rows: outcome.rows })
}

/// The rows in error that a body chooses. That it means all of them has to be said.
fn chosen(body: ChooseFlowRows) -> Result<(FlowRowQuery, Value), Problem> {
    let names_some = body.names_some();
    let ChooseFlowRows { ids, topic, key, all, limit } = body;
    match (names_some, all) {
        (false, false) => {
            let reason = "choose rows by ids, topic or key; or all of them, with \"all\": true";
            return Err(Problem::field("all", reason));
        }
        (true, true) => return Err(Problem::field("all", "excludes ids, topic and key")),
        (true, false) | (false, true) => {}
    }
    if ids.len() > FLOW_ROWS_MOST {
        return Err(Problem::field("ids", format_args!("must be at most {FLOW_ROWS_MOST}; split the request")));
    }
    let limit = limit.unwrap_or(FLOW_ROWS_CHANGED);
    if !(1..=FLOW_ROWS_CHANGED_MOST).contains(&limit) {
        return Err(Problem::field("limit", format_args!("must be between 1 and {FLOW_ROWS_CHANGED_MOST}")));
    }
    let named = &ids[..ids.len().min(FLOW_ROWS_AUDITED)];
    let details = json!({
        "rows": ids.len(), "ids": named, "row_topic": topic, "key": key, "all": all, "limit": limit,
    });
    let status = Some(FlowRowStatus::Error.as_str().to_owned());
    Ok((FlowRowQuery { status, ids, topic, key, limit: Some(limit) }, details))
}

fn view(flow: &dyn Flow) -> FlowView {
    let status = flow.status();
    let stages = status.stages.into_iter().map(|stage| FlowStageView {
        name: stage.name.to_owned(),
        last_ms: stage.last_ms,
        p50_ms: stage.p50_ms,
        p99_ms: stage.p99_ms,
    });
    FlowView {
        kind: kind_view(flow.kind()),
        name: flow.name().to_owned(),
        state: state_view(status.state),
        from: status.from,
        to: status.to,
        error: status.error.map(|error| FlowFailureView {
            reason: error.reason,
            since_ts: error.since,
            tries: error.tries,
            retry_ts: error.retry_at,
        }),
        pending: status.pending,
        oldest_ts: status.oldest,
        counts: FlowCountsView {
            read: status.counts.read,
            written: status.counts.written,
            skipped: status.counts.skipped,
            failed: status.counts.failed,
        },
        stages: stages.collect(),
        position: status.position,
        details: status.details,
    }
}

fn kind_view(kind: FlowKind) -> FlowKindView {
    match kind {
        FlowKind::Outbox => FlowKindView::Outbox,
        FlowKind::Feed => FlowKindView::Feed,
        FlowKind::Projection => FlowKindView::Projection,
    }
}

fn kind_of(view: FlowKindView) -> FlowKind {
    match view {
        FlowKindView::Outbox => FlowKind::Outbox,
        FlowKindView::Feed => FlowKind::Feed,
        FlowKindView::Projection => FlowKind::Projection,
    }
}

fn state_view(state: FlowState) -> FlowStateView {
    match state {
        FlowState::Starting => FlowStateView::Starting,
        FlowState::Snapshot => FlowStateView::Snapshot,
        FlowState::Running => FlowStateView::Running,
        FlowState::Elsewhere => FlowStateView::Elsewhere,
        FlowState::Retrying => FlowStateView::Retrying,
        FlowState::Stopped => FlowStateView::Stopped,
    }
}
