//! Moving a cursor by hand: durable, fenced, audited.

use promethean::{Error, Position};
use serde_json::Value;

use super::home::{Home, floor, next, publish_numbers, soon, take_acked};

#[tokio::test]
async fn a_rewound_group_reads_again_after_a_restart_and_the_audit_trail_records_it() {
    for home in Home::of_each_store() {
        let bus = home.start().await;
        publish_numbers(&bus, "orders", 0..1_000).await;
        let mut orders = bus.subscribe("orders", "billing").from(Position::Earliest).start().await.unwrap();
        take_acked(&mut orders, 900).await;
        let fenced = next(&mut orders).await;
        assert_eq!(soon(bus.set_cursor("orders", 0, "billing", Position::Offset(250))).await.unwrap().after, 250);
        let late = soon(fenced.ack()).await;
        assert!(matches!(late, Err(Error::NotLeased { .. })), "events in flight are fenced: {late:?}");
        let bus = home.restart(bus).await;
        assert_eq!(floor(&bus, "orders", "billing").await, 250);
        let mut orders = bus.subscribe("orders", "billing").start().await.unwrap();
        assert!(take_acked(&mut orders, 750).await.into_iter().eq(250..1_000));

        soon(bus.set_cursor("orders", 0, "billing", Position::Earliest)).await.unwrap();
        soon(bus.set_cursor("orders", 0, "billing", Position::Latest)).await.unwrap();
        let beyond = bus.set_cursor("orders", 0, "billing", Position::Offset(1_001)).await;
        assert!(matches!(beyond, Err(Error::CursorBeyondEnd { asked: 1_001, next: 1_000, .. })));
        let bus = home.restart(bus).await;
        assert_eq!(floor(&bus, "orders", "billing").await, 1_000);
        let trail = bus.read("system.audit", 0, 0, 10).await.unwrap().events;
        let moves: Vec<_> = trail
            .iter()
            .map(|entry| {
                let entry: Value = entry.payload().unwrap();
                assert_eq!((&entry["action"], &entry["group"]), (&"set_cursor".into(), &"billing".into()));
                assert_eq!((&entry["topic"], &entry["partition"]), (&"orders".into(), &0.into()));
                (entry["before"].as_u64().unwrap(), entry["after"].as_u64().unwrap())
            })
            .collect();
        assert_eq!(moves, [(900, 250), (1_000, 0), (0, 1_000)], "a refused move is not recorded");
        home.close_sound(bus).await;
    }
}
