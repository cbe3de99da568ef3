//! `prom dlq` and `prom replay` against a real hub.

use std::time::{Duration, Instant};

use prom_client::{Client, ClientOptions, Position};
use serde_json::Value;

use crate::prom::{Ran, prom_in};
use crate::serve::Served;

struct Scene {
    folder: tempfile::TempDir,
    hub: Served,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let hub = Served::start(folder.path(), &["--store", "memory"], &[]);
        Self { folder, hub }
    }

    /// A group gave up on these orders.
    fn with_letters(count: u32) -> Self {
        let scene = Self::new();
        scene.ask(&["topics", "set", "orders", "--max-attempts", "1"]).exits(0);
        for n in 0..count {
            scene.ask(&["pub", "orders", &format!("{{\"n\":{n},\"amount\":\"{n}.50\"}}"), "--key", "k"]).exits(0);
        }
        let (url, runtime) = (scene.hub.url.clone(), tokio::runtime::Runtime::new().unwrap());
        runtime.block_on(async {
            let client = Client::connect(&url, ClientOptions::default()).await.unwrap();
            let mut orders = client.subscribe("orders", "billing").from(Position::Earliest).start().await.unwrap();
            for n in 0..count {
                let order = orders.next().await.unwrap();
                order.nack(&format!("amount of {n} is text")).await.unwrap();
            }
            client.close().await;
        });
        let deadline = Instant::now() + Duration::from_secs(20);
        while scene.json(&["dlq", "groups", "orders"])["topics"][0]["count"] != count {
            assert!(Instant::now() < deadline, "no letters: {:?}", scene.ask(&["why", "orders", "billing"]));
            std::thread::sleep(Duration::from_millis(50));
        }
        scene
    }

    fn ask(&self, arguments: &[&str]) -> Ran {
        prom_in(self.folder.path(), &[arguments, &["--url", &self.hub.url]].concat(), &[])
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.ask(&[arguments, &["--json"]].concat()).exits(0).stdout).unwrap()
    }
}

#[test]
fn letters_are_looked_at_mended_replayed_followed_and_purged() {
    let scene = Scene::with_letters(3);
    let groups = scene.ask(&["dlq", "groups"]).exits(0).stdout;
    assert!(groups.contains("amount of # is text") && groups.contains("billing 3"), "{groups}");
    let list = scene.ask(&["dlq", "ls", "orders", "--err", "amount of 1"]).exits(0).stdout;
    assert!(list.lines().count() == 2 && list.contains("open") && list.contains("once"), "{list}");
    let letter = scene.json(&["dlq", "ls", "orders", "--err", "amount of 1"])["letters"][0].clone();
    let id = letter["id"].as_str().unwrap();
    let shown = scene.ask(&["dlq", "show", "orders", id]).exits(0).stdout;
    assert!(shown.contains("\"amount\": \"1.50\"") && shown.contains("billing gave up"), "{shown}");
    scene.ask(&["dlq", "show", "orders", "0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f"]).exits(1);
    let mend = ["dlq", "replay", "orders", "--jq", ".payload.amount |= tonumber"];
    let tried = scene.ask(&[&mend[..], &["--dry-run"]].concat()).exits(0).stdout;
    assert!(tried.contains("+ {\"n\":0,\"amount\":0.50}") && tried.contains("3 events would be sent"), "{tried}");
    let edit = ["dlq", "replay", "orders", "--id", id, "--payload", "{\"n\":1,\"amount\":7}"];
    assert!(scene.ask(&edit).exits(0).stdout.starts_with("1 letter replayed; job "));
    assert!(scene.ask(&mend).exits(0).stdout.starts_with("2 letters replayed; job "));
    assert!(scene.ask(&mend).exits(1).stderr.contains("no letter matched"));
    let sub = ["sub", "orders", "--group", "billing", "--count", "3"];
    assert_eq!(scene.ask(&sub).exits(0).stdout.lines().count(), 3);
    let job = scene.json(&["dlq", "jobs"])["jobs"][0]["job"].as_str().unwrap().to_owned();
    let followed = scene.ask(&["dlq", "jobs", &job]).exits(0).stdout;
    assert!(followed.contains("DEAD AGAIN") && followed.contains("done"), "{followed}");
    scene.ask(&["dlq", "jobs", "cancel", &job]).exits(2);
    scene.ask(&["dlq", "purge", "orders"]).exits(2);
    assert!(scene.ask(&["dlq", "purge", "orders", "--all"]).exits(2).stderr.contains("--yes"));
    let counted = scene.ask(&["dlq", "purge", "orders", "--all", "--dry-run"]).exits(0).stdout;
    assert_eq!(counted, "3 letters of orders would go\n");
    assert!(scene.ask(&["dlq", "purge", "orders", "--all", "--yes"]).exits(0).stdout.starts_with("3 letters purged"));
    assert_eq!(scene.ask(&["dlq", "groups"]).exits(0).stdout, "no dead letters\n");
}

#[test]
fn letters_are_given_back_to_the_group_that_gave_up() {
    let scene = Scene::with_letters(2);
    let back = ["dlq", "replay", "orders", "--group", "billing", "--to-group"];
    scene.ask(&["dlq", "replay", "orders", "--to-group"]).exits(2);
    scene.ask(&[&back[..], &["--jq", "."]].concat()).exits(2);
    assert!(scene.ask(&[&back[..], &["--dry-run"]].concat()).exits(0).stdout.contains("2 events would be sent"));
    assert!(scene.ask(&back).exits(0).stdout.starts_with("2 letters given back; job "));
    assert!(scene.ask(&back).exits(1).stderr.contains("no letter matched"));
    let events = scene.ask(&["sub", "orders", "--group", "billing", "--count", "2"]).exits(0).stdout;
    assert!(events.contains("\"offset\":0") && events.contains("\"offset\":1"), "{events}");
    assert!(scene.ask(&["dlq", "jobs"]).exits(0).stdout.contains("give back"));
}

#[test]
fn a_topic_is_replayed_into_another_and_again_without_doubling() {
    let scene = Scene::new();
    for n in 0..5 {
        scene.ask(&["pub", "orders", &format!("{{\"n\":{n}}}")]).exits(0);
    }
    let replay = ["replay", "orders", "orders.few", "--jq", "select(.payload.n > 2) | .payload.few = true"];
    let told = scene.ask(&replay).exits(0).stdout;
    assert_eq!(told, "orders is replayed into orders.few: 5 events read, 2 sent, 3 left out, 0 skipped\n");
    scene.ask(&["pub", "orders", "{\"n\":9}"]).exits(0);
    assert_eq!(scene.json(&replay)["sent"], 3);
    assert_eq!(scene.ask(&["export", "orders.few"]).exits(0).stdout.lines().count(), 3);
    scene.ask(&["replay", "orders", "orders"]).exits(2);
    assert!(scene.ask(&["replay", "orders", "orders.bad", "--jq", ".payload"]).exits(1).stderr.contains("no event"));
    scene.ask(&["replay", "nothing", "orders.few"]).exits(1);
}
