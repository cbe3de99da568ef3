//! Retention: old events go, from the disk too; groups are told what they missed and continue.

use std::time::Duration;

use promethean::{Bus, GapReason, Item, NewEvent, Position, TopicName, TopicSettings, json};

use super::home::{Home, floor, publish_all, soon, take_acked, until};

const HOUR: Duration = Duration::from_secs(3600);

/// Numbers with some padding, so that they fill segments.
async fn publish_heavy(bus: &Bus, numbers: std::ops::Range<u64>) {
    let topic = TopicName::parse("metrics").unwrap();
    let heavy = |number| NewEvent { tags: vec!["x".repeat(200)], ..NewEvent::new(topic.clone(), json!(number)) };
    publish_all(bus, numbers.map(heavy).collect()).await;
}

#[tokio::test]
async fn retention_by_age_drops_old_events_and_groups_continue_after_a_notice() {
    for home in Home::of_each_store() {
        let bus = home.start().await;
        bus.create_topic(TopicSettings::new("metrics").unwrap().retain_for(HOUR)).await.unwrap();
        publish_heavy(&bus, 0..1_000).await;
        let group = bus.subscribe("metrics", "graphs").from(Position::Earliest);
        let mut graphs = group.start().await.unwrap();
        take_acked(&mut graphs, 100).await;
        graphs.unsubscribe().await;
        let tiny = home.sizes.segment < 100_000;
        // Segments are filled after the journal, in the background.
        until(async || !tiny || home.segments().len() > 10).await;
        let files_before = home.segments();
        home.clock.advance(2 * HOUR);
        publish_heavy(&bus, 1_000..1_500).await;
        let retained = bus.retain_now().await.unwrap();
        assert_eq!((retained[0].start, retained[0].removed_offsets), (1_000, 1_000));

        let bus = home.restart(bus).await;
        let page = bus.read("metrics", 0, 0, 1).await.unwrap();
        assert_eq!((page.bounds.start, page.events[0].offset()), (1_000, 1_000), "also after a restart");
        let lag = bus.lag("metrics", "graphs").await.unwrap();
        assert_eq!(lag.lag_events, 500, "removed events are not lag");
        let mut graphs = bus.subscribe("metrics", "graphs").start().await.unwrap();
        match soon(graphs.next_item()).await {
            Some(Item::Gap(gap)) => {
                assert_eq!((gap.from, gap.to, gap.reason), (100, 1_000, GapReason::Retention));
            }
            other => panic!("the group is told of the gap first: {other:?}"),
        }
        assert!(take_acked(&mut graphs, 500).await.into_iter().eq(1_000..1_500));
        assert_eq!(floor(&bus, "metrics", "graphs").await, 1_500);
        if tiny {
            until(async || files_before.iter().take(10).all(|file| !file.exists())).await;
        }
        home.close_sound(bus).await;
    }
}

async fn retained(bus: &Bus) -> u64 {
    let bounds = bus.read("metrics", 0, 0, 1).await.unwrap().bounds;
    bounds.next - bounds.start
}

#[tokio::test]
async fn retention_by_size_runs_by_itself_and_frees_the_disk() {
    const KEPT_BYTES: u64 = 64 << 10;
    let [_, home] = Home::of_each_size();
    let bus = home.start_with(|options| options.maintenance_interval = Some(Duration::from_millis(20))).await;
    bus.create_topic(TopicSettings::new("metrics").unwrap().retain_bytes(KEPT_BYTES)).await.unwrap();
    let mut graphs = bus.subscribe("metrics", "graphs").from(Position::Earliest).start().await.unwrap();
    let bytes_on_disk = || -> u64 {
        let files = home.segments();
        // A segment that is just being removed has no size any more.
        files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum()
    };
    for round in 0..5 {
        publish_heavy(&bus, round * 1_000..(round + 1) * 1_000).await;
        // Some may be gone before the group has read them: it continues with the rest.
        soon(async {
            while floor(&bus, "metrics", "graphs").await < (round + 1) * 1_000 {
                let batch = graphs.next_batch().await;
                graphs.ack_all(batch).await.unwrap();
            }
        })
        .await;
        // Events that are not in a segment yet are not on the disk either, but will be.
        until(async || retained(&bus).await < 400 && bytes_on_disk() < 2 * KEPT_BYTES).await;
    }
    assert!(retained(&bus).await > 100);
    home.close_sound(bus).await;
    assert!(bytes_on_disk() < 2 * KEPT_BYTES);
}

#[tokio::test]
async fn an_emptied_topic_continues_its_offsets_after_a_restart() {
    for home in Home::of_each_store() {
        let bus = home.start().await;
        bus.create_topic(TopicSettings::new("metrics").unwrap().retain_for(HOUR)).await.unwrap();
        publish_heavy(&bus, 0..300).await;
        home.clock.advance(2 * HOUR);
        bus.retain_now().await.unwrap();
        let bus = home.restart(bus).await;
        let page = bus.read("metrics", 0, 0, 10).await.unwrap();
        assert_eq!((page.events.len(), page.bounds.start, page.bounds.next), (0, 300, 300));
        assert_eq!(bus.publish("metrics", json!(300)).await.unwrap().offset, 300);
        // Files go with a checkpoint after everything in them is gone; a clean shutdown makes one.
        let bus = home.restart(bus).await;
        until(async || home.segments().len() <= 1).await;
        home.close_sound(bus).await;
    }
}
