//! `prom serve --store mongo`: the same hub, with another durability in its receipts.

use std::process::Command;

use prom_testkit::mongo::shared;
use prom_testkit::{HubProcess, prom_binary};
use serde_json::Value;

fn prom(hub: &HubProcess, arguments: &[&str]) -> Vec<Value> {
    let output = Command::new(prom_binary().unwrap()).args(arguments).args(["--url", &hub.url()]).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hubs_on_one_database_publish_and_serve_the_same_events() {
    let url = shared().await.unwrap().fresh_url();
    let mut one = HubProcess::start(&["--store", "mongo", "--mongo", &url], &[]).unwrap();
    let receipt = prom(&one, &["pub", "orders.placed", "{\"n\":1}", "--json"]).remove(0);
    assert_eq!((receipt["offset"].as_u64(), receipt["durability"].as_str()), (Some(0), Some("majority")));

    let other = HubProcess::start(&["--store", "mongo"], &[("MONGO_URL", &url)]).unwrap();
    let receipt = prom(&other, &["pub", "orders.placed", "{\"n\":2}", "--json"]).remove(0);
    assert_eq!(receipt["offset"].as_u64(), Some(1));
    let seen = prom(&other, &["sub", "orders.placed", "--group", "billing", "--from", "earliest", "--count", "2"]);
    let numbers: Vec<_> = seen.iter().map(|event| event["payload"]["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2]);

    assert_eq!(one.stop().unwrap().code(), Some(0));
    one.restart().unwrap();
    let receipt = prom(&one, &["pub", "orders.placed", "{\"n\":3}", "--json"]).remove(0);
    assert_eq!(receipt["offset"].as_u64(), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_whose_database_is_dropped_is_no_longer_ready() {
    let url = shared().await.unwrap().fresh_url();
    let hub = HubProcess::start(&["--store", "mongo", "--mongo", &url], &[]).unwrap();
    mongodb::Client::with_uri_str(&url).await.unwrap().default_database().unwrap().drop().await.unwrap();
    let refused = async {
        loop {
            let answer = reqwest::get(format!("{}/readyz", hub.url())).await.unwrap();
            if answer.status() == 503 {
                return answer.text().await.unwrap();
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let said = tokio::time::timeout(std::time::Duration::from_secs(60), refused).await.expect("it stays ready");
    assert!(said.contains("dropped"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prefix_separates_two_hubs_in_one_database() {
    let url = shared().await.unwrap().fresh_url();
    let folder = tempfile::tempdir().unwrap();
    for prefix in ["red_", "blue_"] {
        let config = folder.path().join(format!("{prefix}.toml"));
        std::fs::write(
            &config,
            format!("[store]\nkind = \"mongo\"\n[mongo]\nurl = \"{url}\"\nprefix = \"{prefix}\"\n"),
        )
        .unwrap();
        let hub = HubProcess::start(&["--config", &config.to_string_lossy()], &[]).unwrap();
        let receipt = prom(&hub, &["pub", "orders", "1", "--json"]).remove(0);
        assert_eq!(receipt["offset"].as_u64(), Some(0));
    }
}
