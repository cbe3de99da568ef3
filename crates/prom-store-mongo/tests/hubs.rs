//! Several stores on one database: order, no gaps, no duplicates, and each learns of the others' writes.
#![allow(clippy::unwrap_used)]

mod support;

use std::time::Duration;

use prom_store::{
    Bounds, Commit, CommitError, CursorChange, CursorName, Cursors, Dedupe, LogName, LogOptions, Logs, Store,
};
use prom_types::GroupName;
use support::{append, database, draft, log, named, open, open_with, read_all, soon};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hubs_that_append_to_one_partition_leave_no_gap_and_keep_each_callers_order() {
    const EACH: usize = 400;
    let url = database().await;
    let hubs = [open(&url).await, open(&url).await];
    let orders = log("orders");
    let mut callers = tokio::task::JoinSet::new();
    for (number, hub) in hubs.iter().enumerate() {
        let (hub, orders) = (hub.clone(), orders.clone());
        callers.spawn(async move {
            let mut offsets = Vec::new();
            for round in 0..EACH / 10 {
                let names = (0..10).map(|n| format!("{number}-{round}-{n}"));
                let under_way: Vec<_> =
                    names.map(|name| hub.commit(append(&orders, draft(&name), Dedupe::Window))).collect();
                for pending in under_way {
                    offsets.push(pending.await.unwrap().stored[0].offset);
                }
            }
            offsets
        });
    }
    let mut all = Vec::new();
    while let Some(offsets) = callers.join_next().await {
        let offsets = offsets.unwrap();
        assert!(offsets.is_sorted(), "a caller's events are out of order");
        all.extend(offsets);
    }
    all.sort_unstable();
    assert!(all.into_iter().eq(0..2 * EACH as u64), "offsets have gaps or repeat");
    for hub in &hubs {
        let records = soon(async {
            loop {
                let records = read_all(hub, &orders).await;
                if records.len() == 2 * EACH {
                    return records;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        let records = records.await;
        assert!(records.iter().map(|record| record.offset()).eq(0..2 * EACH as u64));
        assert!(records.is_sorted_by_key(|record| record.stored_ts()));
        hub.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hubs_that_append_to_two_partitions_at_once_leave_no_gap_in_either() {
    const EACH: u64 = 60;
    let url = database().await;
    let hubs = [open(&url).await, open(&url).await];
    let partitions: [LogName; 2] = std::array::from_fn(|n| LogName::new(log("orders").topic, n as u32));
    let mut callers = tokio::task::JoinSet::new();
    for (number, hub) in hubs.iter().enumerate() {
        for caller in 0..2 {
            let (hub, partitions) = (hub.clone(), partitions.clone());
            callers.spawn(async move {
                for n in 0..EACH {
                    let name = format!("{number}-{caller}-{n}");
                    let mut both = append(&partitions[0], draft(&name), Dedupe::Window);
                    both.appends.extend(append(&partitions[1], draft(&name), Dedupe::Window).appends);
                    soon(hub.commit(both)).await.unwrap();
                    let alone = append(&partitions[caller], draft(&format!("{name} alone")), Dedupe::Window);
                    soon(hub.commit(alone)).await.unwrap();
                }
            });
        }
    }
    while let Some(ended) = callers.join_next().await {
        ended.unwrap();
    }
    let fresh = open(&url).await;
    for partition in &partitions {
        let offsets: Vec<u64> = read_all(&fresh, partition).await.iter().map(|record| record.offset()).collect();
        assert!(offsets.iter().copied().eq(0..6 * EACH), "{} events, gaps or repeats", offsets.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_that_several_hubs_publish_at_once_is_stored_once_and_all_get_the_same_receipt() {
    for dedupe in [Dedupe::Window, Dedupe::Exact] {
        let url = database().await;
        let hubs = [open(&url).await, open(&url).await, open(&url).await];
        let orders = log("orders");
        for round in 0..20 {
            let name = format!("same {round}");
            let under_way: Vec<_> =
                hubs.iter().map(|hub| hub.commit(append(&orders, named(&name, dedupe), dedupe))).collect();
            let mut receipts = Vec::new();
            for pending in under_way {
                receipts.push(pending.await.unwrap().stored[0]);
            }
            assert_eq!(receipts.iter().filter(|receipt| !receipt.duplicate).count(), 1, "{receipts:?}");
            assert!(receipts.iter().all(|receipt| receipt.offset == round), "{receipts:?}");
        }
        assert_eq!(read_all(&hubs[0], &orders).await.len(), 20);
        for hub in &hubs {
            hub.close().await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exact_id_that_hubs_publish_to_several_partitions_at_once_is_stored_once() {
    const ROUNDS: usize = 40;
    let url = database().await;
    let hubs = [open(&url).await, open(&url).await, open(&url).await];
    let partitions: [LogName; 3] = std::array::from_fn(|n| LogName::new(log("orders").topic, n as u32));
    for round in 0..ROUNDS {
        let exact = |log: &LogName| append(log, named(&format!("same {round}"), Dedupe::Exact), Dedupe::Exact);
        let mut under_way = Vec::new();
        for (hub, partition) in hubs.iter().zip(&partitions) {
            under_way.push((partition, hub.commit(exact(partition))));
        }
        let mut holders = Vec::new();
        for (partition, pending) in under_way {
            let stored = pending.await.unwrap().stored[0];
            assert_eq!(stored.duplicate, stored.elsewhere.is_some());
            holders.push((stored.elsewhere.unwrap_or(partition.partition), stored.offset));
        }
        assert!(holders.iter().all(|holder| *holder == holders[0]), "stored at {holders:?}");
        // The partitions of one hub are as far from each other as those of several.
        let mut both = exact(&partitions[1]);
        both.appends.extend(exact(&partitions[2]).appends);
        assert!(hubs[0].commit_each(both).await.unwrap().stored.iter().all(|stored| stored.duplicate));
    }
    let mut events = 0;
    for partition in &partitions {
        events += hubs[0].bounds(partition).await.unwrap().next;
    }
    assert_eq!(events, ROUNDS as u64);
}

#[tokio::test]
async fn a_reader_on_one_hub_is_woken_by_an_append_and_by_a_trim_on_another() {
    let url = database().await;
    let (one, other) = (open(&url).await, open(&url).await);
    let orders = log("orders");
    let mut watch = other.watch(&orders);
    assert_eq!(watch.bounds(), Bounds::default());
    one.commit(append(&orders, draft("a"), Dedupe::Fresh)).await.unwrap();
    while watch.bounds().next == 0 {
        soon(watch.changed()).await.unwrap();
    }
    assert_eq!(read_all(&other, &orders).await.len(), 1);
    one.trim(&orders, 1).await.unwrap();
    while watch.bounds().start == 0 {
        soon(watch.changed()).await.unwrap();
    }
    assert_eq!(other.bounds(&orders).await.unwrap(), Bounds { start: 1, next: 1 });
}

#[tokio::test]
async fn a_cursor_taken_by_another_hub_fences_the_first() {
    let url = database().await;
    let (one, other) = (open(&url).await, open(&url).await);
    let billing = CursorName::new(log("orders"), GroupName::parse("billing").unwrap());
    let first = one.take_cursor(&billing, 0).await.unwrap();
    let settle =
        |epoch, to| CursorChange::Settle { epoch, settled: std::iter::once(0..to).collect(), failures: vec![] };
    one.commit(Commit::cursor(billing.clone(), settle(first.epoch, 3))).await.unwrap();
    let second = other.take_cursor(&billing, 0).await.unwrap();
    assert_eq!((second.floor, second.epoch), (3, first.epoch + 1));
    let refused = one.commit(Commit::cursor(billing.clone(), settle(first.epoch, 9))).await;
    assert_eq!(
        refused,
        Err(CommitError::Fenced { cursor: billing.clone(), given: first.epoch, current: second.epoch })
    );
    other.commit(Commit::cursor(billing.clone(), settle(second.epoch, 5))).await.unwrap();
    assert_eq!(one.cursor(&billing).await.unwrap().unwrap().floor, 5);
}

#[tokio::test]
async fn a_hub_whose_view_is_too_old_reads_again_before_it_answers() {
    let url = database().await;
    // Every view is too old as soon as it is taken.
    let suspicious = open_with(&url, |options| options.times.head_age = Duration::ZERO).await;
    let other = open(&url).await;
    let orders = log("orders");
    for round in 0..5 {
        let one = suspicious.commit(append(&orders, draft(&format!("{round} a")), Dedupe::Window)).await.unwrap();
        assert_eq!(one.stored[0].offset, 2 * round);
        let two = other.commit(append(&orders, draft(&format!("{round} b")), Dedupe::Window)).await.unwrap();
        assert_eq!(two.stored[0].offset, 2 * round + 1);
    }
    let mut watch = suspicious.watch(&orders);
    while watch.bounds().next < 10 {
        soon(watch.changed()).await.unwrap();
    }
    assert_eq!(read_all(&suspicious, &orders).await.len(), 10);
}

#[tokio::test]
async fn independent_appends_are_answered_in_their_order() {
    let url = database().await;
    let store = open(&url).await;
    let logs = [log("orders"), log("bills")];
    for round in 0..3 {
        let mut commit = Commit::default();
        for n in 0..10 {
            let name = format!("{round}-{n}");
            commit.appends.extend(append(&logs[n % 2], draft(&name), Dedupe::Window).appends);
        }
        let stored = store.commit_each(commit).await.unwrap().stored;
        let offsets: Vec<_> = stored.iter().map(|stored| stored.offset).collect();
        let expected: Vec<_> = (0..10).map(|n| round * 5 + n / 2).collect();
        assert_eq!(offsets, expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hub_with_an_old_view_cannot_append_to_a_log_that_another_ended() {
    let url = database().await;
    let hubs = [open(&url).await, open(&url).await];
    let orders = log("orders");
    let refused = Err(CommitError::Ended { log: orders.clone() });
    let mut last = None;
    for round in 0..20 {
        let begin = Commit { logs: vec![(orders.clone(), LogOptions::default())], ..Commit::default() };
        hubs[round % 2].commit(begin).await.unwrap();
        for (number, hub) in hubs.iter().enumerate() {
            let name = format!("{round}-{number}");
            let stored = hub.commit(append(&orders, draft(&name), Dedupe::Window)).await.unwrap().stored[0];
            assert!(last.is_none_or(|last| stored.offset > last), "{stored:?} after {last:?}");
            last = Some(stored.offset);
        }
        let end = Commit { ends: vec![orders.clone()], ..Commit::default() };
        hubs[(round + 1) % 2].commit(end).await.unwrap();
        // It may not have heard of it: nothing waits for the change stream here.
        let late = hubs[round % 2].commit(append(&orders, draft(&format!("late {round}")), Dedupe::Window)).await;
        assert_eq!(late.map(drop), refused, "round {round}");
        assert!(read_all(&hubs[(round + 1) % 2], &orders).await.is_empty());
    }
    for hub in &hubs {
        soon(async {
            while !hub.logs().await.unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
}
