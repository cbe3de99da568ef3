//! The log against the receipts.

use super::story::{Story, id};
use crate::history::clients::{Observation, Promise};

fn is_logged(seen: &Observation, event: u64) -> bool {
    matches!(seen, Observation::Logged { id: logged, .. } if *logged == id(event))
}

#[test]
fn an_acknowledged_event_that_is_not_in_the_log_is_lost() {
    let story = Story::of_two().publishing(2, 30).published(2, 2, 40);
    story.breaks(Promise::Stored, &format!("{} was acknowledged at offset 2 of t partition 0 and is not there", id(2)));
}

#[test]
fn a_publish_without_an_answer_may_be_there_or_not() {
    Story::of_two().publishing(2, 30).is_fine();
    Story::of_two().publishing(2, 30).logged(2, 2).handled(3, 2, "alpha", 3000).is_fine();
}

#[test]
fn an_event_at_another_offset_than_its_receipt_names_is_found() {
    let story = Story::of_two().without(|seen| matches!(seen, Observation::Published { offset: 1, .. }));
    story.published(1, 5, 25).breaks(Promise::Stored, "acknowledged at offset 5 of t partition 0 and is at offset 1");
}

#[test]
fn a_second_receipt_for_an_event_that_was_sent_again_names_the_same_offset() {
    Story::of_two().publishing(1, 40).published(1, 1, 45).is_fine();
    Story::of_two().publishing(1, 40).published(1, 2, 45).breaks(Promise::Stored, "offset 2");
}

#[test]
fn an_event_that_is_there_twice_is_found() {
    let story = Story::of_two().logged(1, 2);
    let broken = story.judge().unwrap_err();
    assert!(
        broken.iter().any(|one| one.promise == Promise::Once && one.what.contains("and at offset 2")),
        "{broken:?}"
    );
}

#[test]
fn an_event_that_was_never_published_is_found() {
    let story = Story::of_two().logged(7, 2).handled(3, 2, "alpha", 3000);
    let broken = story.judge().unwrap_err();
    assert!(
        broken.iter().any(|one| one.promise == Promise::Once && one.what.contains("never published")),
        "{broken:?}"
    );
}

#[test]
fn a_hole_in_the_log_is_found() {
    let story = Story::of_two().stored(3, 40).handled(3, 3, "alpha", 3000);
    story.breaks(Promise::LogOrder, "where offset 2 was due");
}

#[test]
fn what_was_acknowledged_before_a_publish_began_comes_before_it() {
    // Both in progress at once: either order is right.
    let both = Story::default().publishing(0, 10).publishing(1, 11).published(0, 0, 20).published(1, 1, 15);
    let both = both.logged(0, 0).logged(1, 1).handled(1, 0, "alpha", 1000).handled(2, 1, "alpha", 2000);
    both.is_fine();
    let reversed = Story::default().stored(1, 10).stored(0, 20);
    let reversed = reversed.handled(1, 0, "alpha", 1000).handled(2, 1, "alpha", 2000);
    reversed.breaks(Promise::LogOrder, "was published after");
}

#[test]
fn a_delivery_of_an_event_that_is_not_in_the_log_is_found() {
    let story = Story::of_two().delivered(3, 9, "alpha", 3000);
    story.breaks(Promise::Stored, "was delivered and is not in the log there");
    assert!(is_logged(&story.lines().last().unwrap().seen, 1));
}
