//! How flows are told to people: kinds, states, stages and what is wrong.

use prom_protocol::http::flows::{FlowFailureView, FlowKindView, FlowStageView, FlowView};
use prom_types::EpochMs;

use crate::output::printable;
use crate::units::show_age;

/// As in paths of the hub.
pub fn path(kind: FlowKindView) -> &'static str {
    match kind {
        FlowKindView::Outbox => "outbox",
        FlowKindView::Feed => "feed",
        FlowKindView::Projection => "projection",
    }
}

pub fn many(kind: FlowKindView) -> &'static str {
    match kind {
        FlowKindView::Outbox => "outboxes",
        FlowKindView::Feed => "feeds",
        FlowKindView::Projection => "projections",
    }
}

/// The table of `prom.toml` that declares one.
pub fn section(kind: FlowKindView) -> &'static str {
    match kind {
        FlowKindView::Outbox => "[[outbox]]",
        FlowKindView::Feed => "[[changefeed]]",
        FlowKindView::Projection => "[[projector]]",
    }
}

/// What is typed after `prom`.
pub fn command(kind: FlowKindView) -> &'static str {
    match kind {
        FlowKindView::Outbox => "outbox",
        FlowKindView::Feed => "feeds",
        FlowKindView::Projection => "projections",
    }
}

/// `commit_to_publish` as people say it.
pub fn stage(stage: &FlowStageView) -> String {
    printable(&stage.name.replace('_', " "))
}

/// How long since then.
pub fn age(since: EpochMs, now: EpochMs) -> String {
    show_age(now.saturating_sub(since).max(0).unsigned_abs())
}

/// What a flow that does not move says, in one sentence; `None` of one that moves.
pub fn trouble(flow: &FlowView, now: EpochMs) -> Option<String> {
    if !flow.state.is_unwell() && flow.error.is_none() {
        return None;
    }
    let mut text = format!("{} is {}", printable(&flow.name), flow.state.as_str());
    if let Some(FlowFailureView { reason, since_ts, tries, retry_ts }) = &flow.error {
        let tried = if *tries == 1 { "1 try".to_owned() } else { format!("{tries} tries") };
        text.push_str(&format!(": {} ({tried} in {}", printable(reason), age(*since_ts, now)));
        text.push_str(&match retry_ts {
            Some(at) => format!(", again in {})", age(now, *at)),
            None => ", waits for an operator)".to_owned(),
        });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use prom_protocol::http::flows::FlowStateView;

    use super::*;

    fn flow(state: FlowStateView, error: Option<FlowFailureView>) -> FlowView {
        FlowView {
            kind: FlowKindView::Feed,
            name: "orders".to_owned(),
            state,
            from: String::new(),
            to: String::new(),
            error,
            pending: None,
            oldest_ts: None,
            counts: Default::default(),
            stages: Vec::new(),
            position: None,
            details: Default::default(),
        }
    }

    #[test]
    fn what_is_wrong_is_one_line_that_says_when_it_goes_on() {
        let failed = |tries, retry_ts| {
            Some(FlowFailureView { reason: "no\nprimary".to_owned(), since_ts: 1_000, tries, retry_ts })
        };
        assert_eq!(trouble(&flow(FlowStateView::Running, None), 9_000), None);
        assert_eq!(
            trouble(&flow(FlowStateView::Retrying, failed(1, Some(13_000))), 9_000).unwrap(),
            "orders is retrying: no primary (1 try in 8.0 s, again in 4.0 s)"
        );
        assert_eq!(
            trouble(&flow(FlowStateView::Stopped, failed(3, None)), 9_000).unwrap(),
            "orders is stopped: no primary (3 tries in 8.0 s, waits for an operator)"
        );
    }
}
