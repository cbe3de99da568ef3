//! A hub whose own work panics, or whose connection falls silent without a word, goes on afterwards.
#![allow(clippy::unwrap_used)]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prom_store::{CommitError, Dedupe, LogName, Logs, Outcome, Store, SystemClock};
use prom_store_mongo::MongoStore;
use prom_types::{Clock, EpochMs};
use support::{append, database, draft, log, open, open_with, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Panics for as long as it is broken.
struct FragileClock {
    clock: SystemClock,
    is_broken: AtomicBool,
}

impl FragileClock {
    fn new() -> Arc<Self> {
        Arc::new(Self { clock: SystemClock::new(), is_broken: AtomicBool::new(false) })
    }

    fn set_broken(&self, is_broken: bool) {
        self.is_broken.store(is_broken, Ordering::SeqCst);
    }

    fn look(&self) -> &SystemClock {
        assert!(!self.is_broken.load(Ordering::SeqCst), "the clock is broken");
        &self.clock
    }
}

impl Clock for FragileClock {
    fn now_ms(&self) -> EpochMs {
        self.look().now_ms()
    }

    fn monotonic(&self) -> Duration {
        self.look().monotonic()
    }
}

#[tokio::test]
async fn a_commit_that_panics_fails_and_those_after_it_are_stored() {
    let clock = FragileClock::new();
    let url = database().await;
    let store = open_with(&url, |options| {
        options.clock = clock.clone();
        // A few commits that are never let go of would fill it.
        options.sizes.waiting_bytes = 4000;
    });
    let store = store.await;
    let logs = [log("orders"), log("bills")];
    let both = |name: &str| {
        let mut commit = append(&logs[0], draft(name), Dedupe::Window);
        commit.appends.extend(append(&logs[1], draft(name), Dedupe::Window).appends);
        commit
    };
    soon(store.commit(both("before"))).await.unwrap();
    clock.set_broken(true);
    for n in 0..20 {
        for commit in [append(&logs[0], draft(&format!("one {n}")), Dedupe::Window), both(&format!("both {n}"))] {
            let failed = soon(store.commit(commit)).await.unwrap_err();
            assert!(matches!(failed, CommitError::Failed { outcome: Outcome::Unknown, .. }), "{failed:?}");
        }
    }
    clock.set_broken(false);
    for log in &logs {
        soon(store.commit(append(log, draft("after"), Dedupe::Window))).await.unwrap();
    }
    soon(store.commit(both("last"))).await.unwrap();
    soon(store.close()).await.unwrap();
}

/// Waits until the store knows of this many events.
async fn hears_of(store: &MongoStore, log: &LogName, events: u64) {
    let mut watch = store.watch(log);
    while watch.bounds().next < events {
        soon(watch.changed()).await.unwrap();
    }
}

#[tokio::test]
async fn a_hub_whose_follower_panics_still_hears_of_others() {
    let url = database().await;
    let clock = FragileClock::new();
    let (writer, follower) = (open(&url).await, open_with(&url, |options| options.clock = clock.clone()).await);
    let orders = log("orders");
    writer.commit(append(&orders, draft("first"), Dedupe::Fresh)).await.unwrap();
    hears_of(&follower, &orders, 1).await;
    follower.bounds(&orders).await.unwrap();
    clock.set_broken(true);
    writer.commit(append(&orders, draft("second"), Dedupe::Fresh)).await.unwrap();
    // Long enough that it has met the broken clock.
    tokio::time::sleep(Duration::from_millis(500)).await;
    clock.set_broken(false);
    hears_of(&follower, &orders, 2).await;
    writer.commit(append(&orders, draft("third"), Dedupe::Fresh)).await.unwrap();
    hears_of(&follower, &orders, 3).await;
}

/// A way to the server on which the connections of change streams can fall silent. The others go on, so that the driver has no
/// reason to give the server up.
struct Line {
    address: SocketAddr,
    /// Counts up; streams from before pass nothing on.
    silenced: watch::Sender<u32>,
}

impl Line {
    async fn to(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let silenced = watch::Sender::new(0);
        let silence = silenced.clone();
        tokio::spawn(async move {
            loop {
                let (near, _) = listener.accept().await.unwrap();
                let far = TcpStream::connect(&server).await.unwrap();
                tokio::spawn(pass_on(near, far, silence.subscribe()));
            }
        });
        Self { address, silenced }
    }

    fn fall_silent(&self) {
        self.silenced.send_modify(|times| *times += 1);
    }
}

async fn pass_on(near: TcpStream, far: TcpStream, mut silenced: watch::Receiver<u32>) {
    let ((mut from_near, mut to_near), (mut from_far, mut to_far)) = (near.into_split(), far.into_split());
    let is_stream = AtomicBool::new(false);
    let asking = async {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(read @ 1..) = from_near.read(&mut bytes).await {
            if bytes[..read].windows(7).any(|part| part == b"getMore") {
                is_stream.store(true, Ordering::SeqCst);
            }
            to_far.write_all(&bytes[..read]).await.unwrap();
        }
    };
    let silence = async {
        silenced.changed().await.unwrap();
        if !is_stream.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = asking => {}
        _ = tokio::io::copy(&mut from_far, &mut to_near) => {}
        // Neither closed nor answered.
        () = silence => std::future::pending().await,
    }
}

#[tokio::test]
async fn a_hub_whose_change_stream_falls_silent_hears_of_others_over_a_new_connection() {
    let url = database().await;
    let (scheme, rest) = url.split_once("://").unwrap();
    let (server, path) = rest.split_once('/').unwrap();
    let line = Line::to(server.to_owned()).await;
    let over_line = format!("{scheme}://{}/{path}&directConnection=true", line.address);
    let follower = open_with(&over_line, |options| options.times.call = Duration::from_secs(1)).await;
    let writer = open(&url).await;
    let orders = log("orders");
    writer.commit(append(&orders, draft("first"), Dedupe::Fresh)).await.unwrap();
    hears_of(&follower, &orders, 1).await;
    line.fall_silent();
    writer.commit(append(&orders, draft("second"), Dedupe::Fresh)).await.unwrap();
    hears_of(&follower, &orders, 2).await;
}
