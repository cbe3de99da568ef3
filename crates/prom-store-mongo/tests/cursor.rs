//! Cursors of groups that hold very many unsettled events: what fails at once must not end durable acks.
#![allow(clippy::unwrap_used)]

mod support;

use mongodb::bson::{Document, RawDocumentBuf, doc};
use prom_store::{Commit, CursorChange, CursorState, Cursors, Failures, Store};
use prom_store_mongo::MongoStore;
use support::{collection, cursor_name, database, open};

const HELD: u64 = 150_000;

fn failure(attempts: u32, returns: u32, reason: Option<String>) -> Failures {
    Failures { attempts, returns, reason }
}

async fn settle(store: &MongoStore, epoch: u64, settled: &[u64], failures: Vec<(u64, Failures)>) {
    let settled = settled.iter().map(|&offset| offset..offset + 1).collect();
    let change = CursorChange::Settle { epoch, settled, failures };
    store.commit(Commit::cursor(cursor_name("billing"), change)).await.unwrap();
}

/// The cursor after these failures and the settlement of every thirtieth event up to 300, as another hub reads it, and
/// the size of its document.
async fn after_failures(failures: Vec<(u64, Failures)>) -> (CursorState, usize) {
    let url = database().await;
    let store = open(&url).await;
    let epoch = store.take_cursor(&cursor_name("billing"), 0).await.unwrap().epoch;
    settle(&store, epoch, &[], failures).await;
    for offset in (0..=300).step_by(30) {
        settle(&store, epoch, &[offset], vec![]).await;
    }
    let stored: Document = collection(&url, "cursors").await.find_one(doc! {}).await.unwrap().unwrap();
    let read = open(&url).await.cursor(&cursor_name("billing")).await.unwrap().unwrap();
    (read, RawDocumentBuf::try_from(&stored).unwrap().as_bytes().len())
}

fn is_acked(state: &CursorState) -> bool {
    (0..=300).step_by(30).all(|offset| state.is_settled(offset)) && !state.is_settled(1)
}

#[tokio::test]
async fn acks_stay_durable_and_cheap_after_a_mass_of_returns() {
    let given_back: Vec<_> = (0..HELD).map(|offset| (offset, failure(0, 1, None))).collect();
    let (read, bytes) = after_failures(given_back).await;
    assert!(is_acked(&read));
    assert_eq!(read.failures.len() as u64, HELD - 11, "every return is counted");
    assert!(bytes < 64 << 10, "each of these acks wrote {bytes} bytes");
}

#[tokio::test]
async fn reasons_that_take_too_much_room_are_left_out_and_the_attempts_stay() {
    let refused = |offset: u64| failure(1, 0, Some(format!("{offset} {}", "no ".repeat(200))));
    let (read, bytes) = after_failures((0..HELD / 4).map(|offset| (offset, refused(offset))).collect()).await;
    assert!(is_acked(&read));
    assert_eq!(read.failures.len() as u64, HELD / 4 - 11);
    assert_eq!(read.failures[&1], refused(1));
    assert_eq!(read.failures[&(HELD / 4 - 1)], failure(1, 0, None));
    assert!(bytes < 4 << 20, "{bytes}");
}

#[tokio::test]
async fn acks_stay_durable_when_not_all_counts_have_room() {
    let every_second: Vec<_> = (0..4 * HELD).step_by(2).map(|offset| (offset, failure(1, 0, None))).collect();
    let (read, bytes) = after_failures(every_second).await;
    assert!(is_acked(&read));
    assert_eq!(read.failures[&2], failure(1, 0, None));
    assert!(bytes < 8 << 20, "{bytes}");
}
