//! Order by key, and by partition.

use super::story::{END_MS, Story};
use crate::history::clients::{Fault, GroupOrder, Observation, Promise, SettleAnswer, SettleKind};

fn two(order: GroupOrder) -> Story {
    Story::with_order(order).stored(0, 10).stored(1, 20)
}

#[test]
fn a_key_waits_until_its_earlier_event_is_acked() {
    let early = |order| two(order).handled(1, 0, "alpha", 1000).handled(2, 1, "ben2", 1020);
    early(GroupOrder::Key).breaks(Promise::DeliveryOrder, "came while offset 0 of key \"k\" was unsettled");
    early(GroupOrder::None).is_fine();
    early(GroupOrder::Partition).is_fine();
    // The next event may come between the ack and its answer.
    two(GroupOrder::Key).handled(1, 0, "alpha", 1000).handled(2, 1, "ben2", 1055).is_fine();
}

#[test]
fn a_refused_ack_does_not_let_the_key_continue() {
    let story = two(GroupOrder::Key).delivered(1, 0, "alpha", 1000).handled(2, 1, "ben2", 2000);
    let refused = story.settled(1, 0, SettleKind::Ack, SettleAnswer::Refused, 1500).disconnected("alpha", 2500);
    let refused = refused.handled(3, 0, "carl", 3000);
    refused.breaks(Promise::DeliveryOrder, "was unsettled");
    // Refused by a hub that does not know what the one before it had settled.
    let taken_over = |story: Story, since_ms| {
        story.cursor(1, 0, 0, 500).cursor(2, 0, since_ms, since_ms + 50).cursor(2, 2, 9000, END_MS)
    };
    taken_over(refused.clone(), 1550).is_fine();
    taken_over(refused.clone().fault(Fault::HubKilled, "hub-2", 1505), 2500).is_fine();
    refused.fault(Fault::HubKilled, "hub-2", 1700).breaks(Promise::DeliveryOrder, "was unsettled");
}

#[test]
fn other_keys_do_not_wait() {
    let mut story = two(GroupOrder::Key).handled(1, 0, "alpha", 1000).handled(2, 1, "ben2", 1020);
    story = story.without(|seen| {
        matches!(seen, Observation::Logged { offset: 1, .. } | Observation::Delivered { offset: 1, .. })
    });
    let key = Some("other".to_owned());
    let (id, topic) = (super::story::id(1), "t".to_owned());
    let logged = Observation::Logged { topic, partition: 0, offset: 1, id, key: key.clone(), stored_ts: 5 };
    let delivered = Observation::Delivered {
        delivery: 2,
        client: "ben2".to_owned(),
        hub: "hub-2".to_owned(),
        group: "g".to_owned(),
        topic: "t".to_owned(),
        partition: 0,
        offset: 1,
        id,
        key,
        attempt: 1,
        deadline_ms: 30_000,
    };
    story.and(END_MS + 1, |_| logged).and(1020, |_| delivered).is_fine();
}

#[test]
fn a_key_goes_back_only_if_another_hub_took_over() {
    // It is unknown whether the first ack counted; the second event came, so it did.
    let story = two(GroupOrder::Key).delivered(1, 0, "alpha", 1000);
    let story = story.settled(1, 0, SettleKind::Ack, SettleAnswer::Unknown, 1100).disconnected("alpha", 1200);
    let back = story.handled(2, 1, "ben2", 2000).handled(3, 0, "ben2", 5000);
    back.breaks(Promise::DeliveryOrder, "came after offset 1 of its key \"k\"");
    back.cursor(1, 0, 0, 500).cursor(2, 0, 3000, 3100).cursor(2, 2, 9000, END_MS).is_fine();
}

#[test]
fn one_subscription_delivers_a_partition_by_offset() {
    let back = |story: Story| story.handled(1, 1, "alpha", 1000).handled(2, 0, "alpha", 1100);
    back(two(GroupOrder::Partition)).breaks(Promise::DeliveryOrder, "came after offset 1 of its partition");
    back(two(GroupOrder::None)).is_fine();
    let resubscribed = Observation::Resubscribed { client: "alpha".to_owned(), group: "g".to_owned() };
    back(two(GroupOrder::Partition)).and(1080, |_| resubscribed).is_fine();
}

#[test]
fn what_was_delivered_before_may_come_again_after_later_events() {
    let story = two(GroupOrder::Partition).delivered(1, 0, "ben2", 900).handled(2, 1, "alpha", 1000);
    story.disconnected("ben2", 950).handled(3, 0, "alpha", 1100).is_fine();
}
