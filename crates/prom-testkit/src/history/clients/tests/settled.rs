//! Everything is settled in the end.

use super::story::{END_MS, Story};
use crate::history::clients::{Observation, Promise, SettleAnswer, SettleKind};

#[test]
fn an_event_that_never_came_is_found() {
    Story::of_two().stored(2, 30).breaks(Promise::Settled, "was never delivered");
}

#[test]
fn an_event_whose_acks_were_all_refused_is_not_settled() {
    let story = Story::of_two().stored(2, 30).delivered(3, 2, "alpha", 3000);
    let refused = story.clone().settled(3, 2, SettleKind::Ack, SettleAnswer::Refused, 3010);
    refused.breaks(Promise::Settled, "no ack of it was accepted");
    story.clone().breaks(Promise::Settled, "no ack of it was accepted");
    // It may have counted.
    story.settled(3, 2, SettleKind::Ack, SettleAnswer::Unknown, 3010).is_fine();
}

#[test]
fn every_group_with_a_promise_is_judged() {
    let other = Observation::Group { group: "other".to_owned(), order: crate::history::clients::GroupOrder::None };
    Story::of_two().and(0, |_| other).breaks(Promise::Settled, "in other was never delivered");
}

#[test]
fn a_floor_never_passes_an_unacked_event() {
    Story::of_two().cursor(1, 0, 0, 500).cursor(1, 2, 500, END_MS).is_fine();
    Story::of_two().cursor(1, 1, 0, 1055).cursor(1, 2, 500, END_MS).is_fine();
    let early = Story::of_two().cursor(1, 1, 0, 900).cursor(1, 2, 500, END_MS);
    early.breaks(Promise::Settled, "counts as settled without an ack");
}

#[test]
fn a_floor_does_not_go_back_and_reaches_the_end() {
    let back = Story::of_two().cursor(1, 2, 0, 3000).cursor(2, 1, 3000, 4000).cursor(2, 2, 4000, END_MS);
    back.breaks(Promise::Settled, "goes back");
    Story::of_two().cursor(1, 1, 0, END_MS).breaks(Promise::Settled, "has settled 1 of 2");
}
