//! Checking a directory: sound after a busy life, and precise about damage.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use promethean::{GapReason, Item, Position, TopicSettings, json};

use super::home::{Home, publish_numbers, soon, take_acked};

fn flip_byte(file: &Path, position: u64) {
    let mut file = std::fs::OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut byte = [0];
    file.seek(SeekFrom::Start(position)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(position)).unwrap();
    file.write_all(&[byte[0] ^ 0xFF]).unwrap();
}

#[tokio::test]
async fn a_directory_is_sound_after_every_kind_of_operation() {
    for home in Home::of_each_size() {
        let mut bus = home.start().await;
        let state = TopicSettings::new("state").unwrap().compacted();
        bus.create_topic(state).await.unwrap();
        let metrics = TopicSettings::new("metrics").unwrap().retain_bytes(20_000);
        bus.create_topic(metrics).await.unwrap();
        for life in 0..3 {
            publish_numbers(&bus, "metrics", 0..1_000).await;
            for number in 0..300 {
                bus.publish("state", json!(number)).key(format!("{}", number % 7)).await.unwrap();
            }
            let wait = Duration::from_millis(1);
            let group = bus.subscribe("**", "all").from(Position::Earliest).max_attempts(1).backoff(wait, wait);
            let mut all = group.start().await.unwrap();
            for round in 0..20 {
                publish_numbers(&bus, "metrics", 0..50).await;
                let mut batch = soon(all.next_batch()).await;
                soon(batch.pop().unwrap().nack("no")).await.unwrap();
                soon(all.ack_all(batch)).await.unwrap();
                if round == 10 {
                    bus.retain_now().await.unwrap();
                    bus.compact_now().await.unwrap();
                }
            }
            soon(bus.set_cursor("state", 0, "all", Position::Offset(life))).await.unwrap();
            drop(all);
            bus = home.restart(bus).await;
        }
        home.close_sound(bus).await;
        let report = home.fsck();
        assert!(report.logs >= 4, "metrics, state, letters, audit: {report}");
        assert!(report.to_string().ends_with("sound"), "{report}");
    }
}

#[tokio::test]
async fn a_flipped_byte_in_a_sealed_segment_is_named_and_groups_continue_after_it() {
    const POSITION: u64 = 1_000;
    let [_, home] = Home::of_each_size();
    let bus = home.start().await;
    publish_numbers(&bus, "orders", 0..1_000).await;
    home.close_sound(bus).await;
    let damaged = home.segments()[1].clone();
    flip_byte(&damaged, POSITION);

    let report = home.fsck();
    assert!(!report.is_sound());
    for damage in &report.damage {
        assert_eq!(damage.file, damaged);
    }
    let near = |position: u64| position <= POSITION && POSITION < position + 300;
    assert!(report.damage.iter().any(|damage| near(damage.position)), "{report}");
    assert_eq!(report.events, 999, "all but one are readable");

    let bus = home.start().await;
    let mut orders = bus.subscribe("orders", "billing").from(Position::Earliest).start().await.unwrap();
    let (mut seen, mut gap) = (Vec::new(), None);
    while seen.last() != Some(&999) {
        match soon(orders.next_item()).await.unwrap() {
            Item::Delivery(delivery) => {
                seen.push(delivery.offset());
                soon(delivery.ack()).await.unwrap();
            }
            Item::Gap(told) => gap = Some(told),
            Item::Assignment(change) => panic!("unexpected {change:?}"),
        }
    }
    let gap = gap.expect("the group is told");
    assert_eq!((gap.to - gap.from, seen.len()), (1, 999));
    assert!(!seen.contains(&gap.from));
    let GapReason::Damage(place) = gap.reason else {
        panic!("{:?}", gap.reason);
    };
    assert!(place.contains(&*damaged.to_string_lossy()), "{place}");
    publish_numbers(&bus, "orders", 1_000..1_010).await;
    assert!(take_acked(&mut orders, 10).await.into_iter().eq(1_000..1_010), "publishing still works");
    assert_eq!(bus.lag("orders", "billing").await.unwrap().lag_events, 0);
}
