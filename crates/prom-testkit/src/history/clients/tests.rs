//! Made-up histories: for each promise some that break it, which must be found, and near misses that are fine.

mod flow;
mod leases;
mod log;
mod order;
mod settled;
mod story;

use super::{HistoryLine, Observation};
use crate::history::read::read;
use story::Story;

#[test]
fn a_line_reads_as_it_was_written() {
    for line in Story::of_two().lines() {
        let text = serde_json::to_string(&line).unwrap();
        assert_eq!(read::<HistoryLine>(&text).unwrap(), [line]);
    }
    let text = r#"{"at_us":7,"seen":"fault","fault":"hub_killed","target":"hub-1"}"#;
    assert!(matches!(&read(text).unwrap()[..], [HistoryLine { at_us: 7, seen: Observation::Fault { .. } }]));
}

#[test]
fn a_line_that_cannot_be_read_is_named() {
    let error =
        read::<HistoryLine>("{\"at_us\":1,\"seen\":\"disconnected\",\"client\":\"a\",\"why\":\"\"}\n{}").unwrap_err();
    assert!(error.to_string().starts_with("line 2 "), "{error}");
}

#[test]
fn a_run_without_faults_is_fine_and_is_summed_up() {
    let summary = Story::of_two().judge().unwrap();
    assert_eq!((summary.published, summary.logged, summary.deliveries, summary.redeliveries), (2, 2, 2, 0));
}

#[test]
fn a_history_that_proves_nothing_is_no_proof() {
    Story::default().breaks(super::Promise::History, "nothing to judge");
    let unasked = Story::of_two().and(50, |_| Story::settled_line(9, 0, super::SettleAnswer::Ok));
    unasked.breaks(super::Promise::History, "nothing was asked");
}
