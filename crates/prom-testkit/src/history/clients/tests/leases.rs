//! Second deliveries: what explains them, and what does not.

use super::story::{LATENCY_MS, Story, TTL_MS, id};
use crate::history::clients::{Explanation, Fault, Observation, Promise, SettleAnswer, SettleKind};

/// The second event goes to alpha, who does not answer, and then to beta, who acks it.
fn to_both(first_ms: u64, second_ms: u64) -> Story {
    let story = Story::default().stored(0, 10).stored(1, 20).handled(1, 0, "alpha", 1000);
    story.delivered(2, 1, "alpha", first_ms).handled(3, 1, "ben2", second_ms)
}

fn is_unexplained(story: &Story) {
    story.breaks(Promise::OneLease, &format!("{} (offset 1 of t partition 0) in g was delivered to ben2", id(1)));
}

#[test]
fn a_second_delivery_during_the_first_lease_is_reported_with_event_and_lines() {
    let story = to_both(2000, 3000);
    is_unexplained(&story);
    let lines = story.lines();
    let broken = story.judge().unwrap_err().remove(0);
    for line in broken.lines {
        assert!(matches!(&lines[line - 1].seen, Observation::Delivered { offset: 1, .. }));
    }
}

#[test]
fn a_pending_ack_explains_nothing() {
    is_unexplained(&to_both(2000, 3000).settled(2, 1, SettleKind::Ack, SettleAnswer::Unknown, 2500));
    is_unexplained(&to_both(2000, 3000).settled(2, 1, SettleKind::Ack, SettleAnswer::Refused, 2500));
    // Accepted, but only after it had come again.
    is_unexplained(&to_both(2000, 3000).settled(2, 1, SettleKind::Ack, SettleAnswer::Ok, 2995));
}

#[test]
fn a_lease_that_ran_out_explains_it() {
    to_both(2000, 2000 + 30_000).is_explained(Explanation::Expired);
    is_unexplained(&to_both(2000, 2000 + 30_000 - 2 * LATENCY_MS));
}

#[test]
fn a_nack_for_an_earlier_lease_ends_the_current_one() {
    // Twice to alpha because the cursor changed hands; then she nacks the first.
    let story = to_both(2000, 9000).cursor(1, 0, 0, 500).cursor(2, 1, 1500, 1600).cursor(2, 2, 90_000, 99_000);
    is_unexplained(&story);
    let stale = story.delivered(9, 1, "alpha", 1200).settled(9, 1, SettleKind::Nack, SettleAnswer::Ok, 8000);
    let counted = stale.without(|seen| matches!(seen, Observation::Delivered { delivery: 3, .. }));
    let summary = counted.attempt(2, 3, 1, "ben2", 9000).is_fine();
    assert_eq!(summary.explained.get(&Explanation::Nacked), Some(&1));
}

#[test]
fn a_lost_connection_of_the_holder_explains_it() {
    to_both(2000, 3000).disconnected("alpha", 2500).is_explained(Explanation::Disconnected);
    is_unexplained(&to_both(2000, 3000).disconnected("carl", 2500));
    is_unexplained(&to_both(2000, 3000).disconnected("alpha", 1500));
}

#[test]
fn a_revoked_partition_explains_it() {
    let revoked = |partition| Observation::Revoked {
        client: "alpha".to_owned(),
        group: "g".to_owned(),
        topic: "t".to_owned(),
        partitions: vec![partition],
    };
    to_both(2000, 3000).and(2500, |_| revoked(0)).is_explained(Explanation::Revoked);
    is_unexplained(&to_both(2000, 3000).and(2500, |_| revoked(1)));
}

#[test]
fn a_new_epoch_explains_it_and_an_old_one_does_not() {
    let cursors = |story: Story, since_ms, at_ms| story.cursor(1, 0, 0, 500).cursor(2, 1, since_ms, at_ms);
    let end = |story: Story| story.cursor(2, 2, 90_000, 99_000);
    end(cursors(to_both(2000, 3000), 2400, 2600)).is_explained(Explanation::NewEpoch);
    // It may have happened just before.
    end(cursors(to_both(2000, 3000), 2900, 3100)).is_explained(Explanation::NewEpoch);
    is_unexplained(&end(cursors(to_both(2000, 3000), 3050, 3100)));
    is_unexplained(&end(cursors(to_both(7000, 8000), 1500, 1600)));
}

#[test]
fn a_stopped_hub_explains_what_its_client_held() {
    let stopped =
        |story: Story, hub, from, until| story.fault(Fault::HubPaused, hub, from).fault(Fault::HubResumed, hub, until);
    stopped(to_both(2000, 6000), "hub-1", 2500, 9000).is_explained(Explanation::HubStopped);
    is_unexplained(&stopped(to_both(2000, 6000), "hub-3", 2500, 9000));
    is_unexplained(&stopped(to_both(2000, 6000), "hub-1", 1000, 1500));
    is_unexplained(&stopped(to_both(2000, 6000), "hub-1", 6500, 9000));
}

#[test]
fn deliveries_in_transit_through_a_stopped_hub_may_arrive_late() {
    let stopped = |story: Story| story.fault(Fault::HubPaused, "hub-2", 1500).fault(Fault::HubResumed, "hub-2", 6000);
    stopped(to_both(3000, 6050)).is_explained(Explanation::Late);
    is_unexplained(&stopped(to_both(3000, 6000 + 2 * LATENCY_MS)));
    // Acked meanwhile by the client that got it instead: the late one is no new delivery.
    let acked = to_both(3000, 6050).settled(2, 1, SettleKind::Ack, SettleAnswer::Ok, 3500);
    stopped(acked).is_fine();
}

#[test]
fn a_hub_that_wakes_may_briefly_hand_out_what_another_has_taken_over() {
    let woken = |second_ms| {
        let acked = to_both(5000, second_ms).settled(2, 1, SettleKind::Ack, SettleAnswer::Ok, 5100);
        let stopped = acked.fault(Fault::HubPaused, "hub-2", 1500).fault(Fault::HubResumed, "hub-2", 9000);
        stopped.cursor(1, 0, 0, 500).cursor(2, 1, 4500, 4600).cursor(2, 2, 90_000, 99_000)
    };
    woken(9000 + TTL_MS / 2).is_fine();
    woken(9000 + 2 * TTL_MS).breaks(Promise::AckKept, "was acked, and then delivered to ben2");
}

#[test]
fn an_acked_event_does_not_come_again() {
    let again = |at_ms| Story::of_two().delivered(3, 1, "ben2", at_ms);
    again(2200).breaks(Promise::AckKept, "was acked, and then delivered to ben2");
    // An ack that was accepted before a takeover is known after it.
    let taken_over = again(4000).cursor(1, 0, 0, 500).cursor(2, 2, 3000, 3100);
    taken_over.breaks(Promise::AckKept, "was acked");
    // Not even after the holder is gone.
    again(4000).disconnected("alpha", 3500).breaks(Promise::AckKept, "was acked");
}

#[test]
fn an_ack_that_crosses_a_second_delivery_to_the_same_client_counts_for_both() {
    // The first lease had expired, the second delivery was in transit.
    let base = || Story::of_two().stored(2, 30).delivered(3, 2, "alpha", 3000);
    let crossing =
        |at_ms| base().settled(3, 2, SettleKind::Ack, SettleAnswer::Ok, 33_100).attempt(2, 4, 2, "alpha", at_ms);
    crossing(33_150).is_fine();
    crossing(33_500).breaks(Promise::AckKept, "was acked, and then delivered to alpha");
}

#[test]
fn an_ack_under_an_older_epoch_is_refused() {
    let taken_over = |story: Story| story.cursor(1, 0, 0, 500).cursor(2, 1, 3000, 3100).cursor(2, 2, 90_000, 99_000);
    let base = || taken_over(Story::default().stored(0, 10).stored(1, 20).handled(1, 0, "alpha", 1000));
    let late = |answer| base().delivered(2, 1, "alpha", 2000).settled(2, 1, SettleKind::Ack, answer, 4000);
    late(SettleAnswer::Ok).breaks(Promise::Fenced, "by alpha counted under an older epoch");
    late(SettleAnswer::Refused).handled(3, 1, "ben2", 5000).is_fine();
    // Another client had settled it, or it had been given to her again.
    late(SettleAnswer::Ok).handled(3, 1, "ben2", 3500).is_fine();
    late(SettleAnswer::Ok).delivered(3, 1, "alpha", 4005).is_fine();
    // Sent before the takeover was seen.
    base().delivered(2, 1, "alpha", 2000).settled(2, 1, SettleKind::Ack, SettleAnswer::Ok, 3095).is_fine();
}

#[test]
fn an_ack_without_an_answer_may_have_been_lost() {
    let lost =
        to_both(2000, 3000).settled(2, 1, SettleKind::Ack, SettleAnswer::Unknown, 2100).disconnected("alpha", 2200);
    lost.is_explained(Explanation::Disconnected);
}

#[test]
fn failed_attempts_are_counted() {
    let base = || Story::default().stored(0, 10).delivered(1, 0, "alpha", 1000);
    let nacked = || base().settled(1, 0, SettleKind::Nack, SettleAnswer::Ok, 1100);
    let done = |story: Story| story.settled(2, 0, SettleKind::Ack, SettleAnswer::Ok, 2100);
    done(nacked().attempt(2, 2, 0, "ben2", 2000)).is_explained(Explanation::Nacked);
    done(nacked().attempt(1, 2, 0, "ben2", 2000)).breaks(Promise::Attempts, "was nacked and came again as attempt 1");
    done(nacked().attempt(3, 2, 0, "ben2", 2000)).breaks(Promise::Attempts, "came as attempt 3 after 1 failures");
    // A return is not a failure.
    let returned = || base().disconnected("alpha", 1500);
    done(returned().attempt(1, 2, 0, "ben2", 2000)).is_explained(Explanation::Disconnected);
    done(returned().attempt(2, 2, 0, "ben2", 2000)).breaks(Promise::Attempts, "came as attempt 2 after 0 failures");
}
