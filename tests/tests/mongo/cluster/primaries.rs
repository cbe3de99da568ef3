//! Who was primary when. Every server is asked all the time, and changes are written down: when nothing happens, this tells
//! whether the database stood still, or a hub or a client.

use std::sync::Arc;
use std::time::Duration;

use mongodb::Client;
use mongodb::bson::doc;
use mongodb::options::ClientOptions;
use parking_lot::Mutex;
use prom_testkit::history::clients::{Observation, Recorder};
use tokio::task::JoinHandle;

const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A set of three on this machine elects within seconds, however busy it is.
const NO_PRIMARY_FOR: Duration = Duration::from_secs(90);

/// Times and addresses; `None` while no server takes writes.
type Changes = Vec<(u64, Option<String>)>;

pub struct PrimaryWatch {
    changes: Arc<Mutex<Changes>>,
    recorder: Arc<Recorder>,
    watching: JoinHandle<()>,
}

impl PrimaryWatch {
    pub async fn watch(addresses: &[String], recorder: Arc<Recorder>) -> Self {
        let mut servers = Vec::new();
        for address in addresses {
            let url = format!("mongodb://{address}/?directConnection=true");
            let mut options = ClientOptions::parse(url).await.unwrap();
            options.server_selection_timeout = Some(LOOK_EVERY);
            servers.push((address.clone(), Client::with_options(options).unwrap()));
        }
        let changes = Arc::new(Mutex::new(Changes::new()));
        let watching = tokio::spawn(follow(servers, changes.clone(), recorder.clone()));
        Self { changes, recorder, watching }
    }

    /// Ready when a primary was there for so long without the hoped-for result, or none was there for too long. Says which.
    pub async fn lost_patience(&self, patience: Duration) -> String {
        let since_us = self.recorder.now_us();
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let now_us = self.recorder.now_us();
            let without = without_primary(&self.changes.lock(), since_us, now_us);
            let elapsed = Duration::from_micros(now_us - since_us);
            if without > NO_PRIMARY_FOR {
                return format!("the set had no primary for {without:?} of {elapsed:?}");
            }
            if elapsed - without > patience {
                return format!(
                    "hub or client stood still: the set was without a primary for only {without:?} of {elapsed:?}"
                );
            }
        }
    }
}

impl Drop for PrimaryWatch {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

async fn follow(servers: Vec<(String, Client)>, changes: Arc<Mutex<Changes>>, recorder: Arc<Recorder>) {
    loop {
        let mut primary = None;
        for (address, server) in &servers {
            let admin = server.database("admin");
            let hello = tokio::time::timeout(LOOK_EVERY, async { admin.run_command(doc! { "hello": 1 }).await }).await;
            if hello.is_ok_and(|hello| hello.is_ok_and(|hello| hello.get_bool("isWritablePrimary").unwrap_or(false))) {
                primary = Some(address.clone());
            }
        }
        let is_news = changes.lock().last().is_none_or(|(_, before)| *before != primary);
        if is_news {
            recorder.note(Observation::Primary { address: primary.clone() });
            changes.lock().push((recorder.now_us(), primary));
        }
        // A run that is killed leaves what happened until then.
        recorder.finish().unwrap();
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// How long no server took writes between two times.
fn without_primary(changes: &[(u64, Option<String>)], since_us: u64, now_us: u64) -> Duration {
    let ends = changes.iter().skip(1).map(|(at_us, _)| *at_us).chain([now_us]);
    let spans = changes.iter().zip(ends).filter(|((_, primary), _)| primary.is_none());
    let within = spans.map(|((from_us, _), to_us)| to_us.min(now_us).saturating_sub((*from_us).max(since_us)));
    Duration::from_micros(within.sum())
}

#[test]
fn time_without_a_primary_is_counted_from_the_first_look() {
    let at = |second: u64, primary: Option<&str>| (second * 1_000_000, primary.map(str::to_owned));
    let changes = [at(1, Some("a")), at(10, None), at(13, Some("b")), at(20, None)];
    for (since, now, expected) in [(0, 9, 0), (0, 12, 2), (0, 15, 3), (11, 15, 2), (0, 25, 8), (14, 16, 0), (21, 25, 4)]
    {
        let without = without_primary(&changes, since * 1_000_000, now * 1_000_000);
        assert_eq!(without, Duration::from_secs(expected), "from {since} to {now}");
    }
}
