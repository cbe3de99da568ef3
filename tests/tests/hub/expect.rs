//! A hundred writers of one counter: read, expect, publish, and again on `conflict`. No update is lost, on one hub and on
//! two over one database. Each success makes a conflict of what all others have under way, and over a database each of those
//! costs some of its answers: fewer rounds there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use prom_client::{Client, ClientOptions, Expectation, json};
use prom_testkit::HubProcess;
use prom_testkit::mongo::shared;
use serde_json::Value;

const WRITERS: usize = 100;
const TOPIC: &str = "counters";

async fn set_up(hub: &HubProcess) -> reqwest::Client {
    let http = reqwest::Client::new();
    let put = http.put(format!("{}/topics/{TOPIC}", hub.url())).body(r#"{"versions":true}"#);
    put.header("content-type", "application/json").send().await.unwrap().error_for_status().unwrap();
    http
}

/// The newest event of the counter.
async fn read(http: &reqwest::Client, hub: &str) -> Option<Value> {
    let url = format!("{hub}/latest-by-key?topic={TOPIC}&key=counter");
    http.get(url).send().await.unwrap().error_for_status().unwrap().json().await.unwrap()
}

/// Raises the counter by one; how often somebody else was first.
async fn add_one(http: &reqwest::Client, hub: &str, client: &Client) -> u64 {
    let mut conflicts = 0;
    loop {
        let found = read(http, hub).await;
        let count = found.as_ref().map_or(0, |event| event["payload"].as_u64().unwrap());
        let expected = Expectation::KeyOffset(found.map(|event| event["offset"].as_u64().unwrap()));
        match client.publish(TOPIC, json!(count + 1)).key("counter").expecting(expected).await {
            Ok(_) => return conflicts,
            Err(error) if error.actual().is_some() => conflicts += 1,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Each of a hundred writers raises it so many times.
async fn raise_together(hubs: &[&HubProcess], updates: u64, what: &str) {
    let http = set_up(hubs[0]).await;
    let conflicts = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let mut writers = Vec::new();
    for number in 0..WRITERS {
        let (http, url) = (http.clone(), hubs[number % hubs.len()].url());
        let conflicts = conflicts.clone();
        writers.push(tokio::spawn(async move {
            let client = Client::connect(&url, ClientOptions::default()).await.unwrap();
            for _ in 0..updates {
                conflicts.fetch_add(add_one(&http, &url, &client).await, Ordering::Relaxed);
            }
            client.close().await;
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let took = begun.elapsed();
    let all = WRITERS as u64 * updates;
    let last = read(&http, &hubs[0].url()).await.unwrap();
    assert_eq!((last["payload"].as_u64(), last["offset"].as_u64()), (Some(all), Some(all - 1)), "an update was lost");
    eprintln!(
        "{what}: {all} updates by {WRITERS} writers in {took:?}, {} conflicts",
        conflicts.load(Ordering::Relaxed)
    );
    tell_rates(&hubs[0].url(), what).await;
}

/// Publishing with an expectation that holds beside publishing without one, one after the other.
async fn tell_rates(url: &str, what: &str) {
    let client = Client::connect(url, ClientOptions::default()).await.unwrap();
    let rate = async |conditional: bool| {
        let begun = Instant::now();
        let (mut last, mut events) = (None, 0u32);
        while begun.elapsed() < Duration::from_secs(1) {
            let publish = client.publish(TOPIC, json!(events)).key(if conditional { "one" } else { "two" });
            let receipt =
                if conditional { publish.expecting(Expectation::KeyOffset(last)).await } else { publish.await };
            last = Some(receipt.unwrap().offset);
            events += 1;
        }
        f64::from(events) / begun.elapsed().as_secs_f64()
    };
    let (plain, conditional) = (rate(false).await, rate(true).await);
    eprintln!("{what}: one after the other {plain:.0}/s without, {conditional:.0}/s with an expectation");
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_update_of_a_counter_is_lost_on_one_hub() {
    let data = tempfile::tempdir().unwrap();
    let hub = HubProcess::on(data.path()).unwrap();
    raise_together(&[&hub], 10, "one hub").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_update_of_a_counter_is_lost_on_two_hubs_over_one_database() {
    let url = shared().await.unwrap().fresh_url();
    let start = || HubProcess::start(&["--store", "mongo", "--mongo", &url], &[]).unwrap();
    let (one, two) = (start(), start());
    raise_together(&[&one, &two], 3, "two hubs over MongoDB").await;
}
