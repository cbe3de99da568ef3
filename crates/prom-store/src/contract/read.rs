//! Reading: limits, the ends of a log, the listing of logs.

use prom_types::EventId;

use super::Harness;
use super::scene::{CheckResult, EventDraft, StoreScene, cursor, log, partition, unnamed};
use crate::{Bounds, Find, LogOptions, ReadLimit, Record};

pub async fn a_read_stops_at_the_number_of_events(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append_all(&orders, unnamed(10)).await?;
    let limit = ReadLimit { events: 3, bytes: usize::MAX };
    let batch = scene.store.read(&orders, 4, limit).await?;
    assert_eq!(offsets(&batch.records), [4, 5, 6]);
    assert_eq!((batch.next, batch.bounds), (7, Bounds { start: 0, next: 10 }));
    Ok(())
}

pub async fn a_read_stops_at_the_number_of_bytes_but_gives_at_least_one(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    let same_size = || EventDraft::unnamed().payload(serde_json::json!("0123456789").into());
    scene.append_all(&orders, std::iter::repeat_with(same_size).take(10)).await?;
    let size = scene.read_all(&orders).await?[0].len();

    let read = async |bytes| scene.store.read(&orders, 0, ReadLimit { events: 100, bytes }).await;
    assert_eq!(offsets(&read(3 * size).await?.records), [0, 1, 2]);
    assert_eq!(offsets(&read(3 * size + 1).await?.records), [0, 1, 2]);
    let least = read(1).await?;
    assert_eq!((offsets(&least.records), least.next), (vec![0], 1));
    Ok(())
}

pub async fn continuing_where_a_read_stopped_gives_every_event_once(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    for _ in 0..5 {
        scene.append_all(&orders, unnamed(20)).await?;
    }
    let (mut from, mut found) = (0, Vec::new());
    while from < 100 {
        let batch = scene.store.read(&orders, from, ReadLimit { events: 7, bytes: usize::MAX }).await?;
        assert!(batch.next > from);
        found.extend(offsets(&batch.records));
        from = batch.next;
    }
    assert!(found.into_iter().eq(0..100));
    Ok(())
}

pub async fn a_read_at_or_beyond_the_end_is_empty(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let orders = log("orders")?;
    scene.append_all(&orders, unnamed(3)).await?;
    let at_end = scene.store.read(&orders, 3, ReadLimit::default()).await?;
    assert_eq!((at_end.records.len(), at_end.next, at_end.bounds.next), (0, 3, 3));
    let beyond = scene.store.read(&orders, 1000, ReadLimit::default()).await?;
    assert_eq!((beyond.records.len(), beyond.bounds.next), (0, 3));
    Ok(())
}

pub async fn a_log_that_was_never_appended_to_is_empty(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let never = log("never.made")?;
    let batch = scene.store.read(&never, 5, ReadLimit::default()).await?;
    assert_eq!((batch.records.len(), batch.bounds), (0, Bounds::default()));
    assert_eq!(scene.store.bounds(&never).await?, Bounds::default());
    assert_eq!(scene.store.trim(&never, 5).await?, Bounds::default());
    for what in [Find::StoredAt(0), Find::Id(EventId::derived("a")), Find::RemainingBytes(9)] {
        assert_eq!(scene.store.find(&never, what).await?, None);
    }
    assert_eq!(scene.store.cursor(&cursor(&never, "group")?).await?, None);
    assert_eq!(scene.append(&never, EventDraft::unnamed()).await?.offset, 0);
    Ok(())
}

pub async fn logs_are_listed_by_name_with_their_bounds_and_sizes(harness: &dyn Harness) -> CheckResult {
    let scene = StoreScene::open(harness).await?;
    let (orders, orders_1, states) = (log("orders")?, partition("orders", 1)?, log("states")?);
    scene.turn_compaction_on(&states).await?;
    scene.append_all(&orders_1, unnamed(3)).await?;
    let last = scene.append(&orders, EventDraft::unnamed()).await?;
    scene.store.trim(&orders_1, 2).await?;

    let scene = scene.reopen().await?;
    let listed = scene.store.logs().await?;
    let names: Vec<_> = listed.iter().map(|info| &info.log).collect();
    assert_eq!(names, [&orders, &orders_1, &states]);
    assert_eq!(listed[0].bounds, Bounds { start: 0, next: 1 });
    assert_eq!(listed[0].last_stored_ts, last.stored_ts);
    assert!(listed[0].bytes > 0);
    assert_eq!(listed[1].bounds, Bounds { start: 2, next: 3 });
    assert_eq!(
        (listed[2].bounds, listed[2].options),
        (Bounds::default(), LogOptions { compacted: true, versions: false })
    );
    Ok(())
}

fn offsets(records: &[Record]) -> Vec<u64> {
    records.iter().map(Record::offset).collect()
}
