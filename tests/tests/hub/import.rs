//! Export and import: another hub gets the same topic, byte for byte.

use prom_testkit::HubProcess;
use prom_testkit::mongo::shared;
use serde_json::{Value, json};

const TOPIC: &str = "orders.placed";
/// Texts that a number or a string is easily changed by on its way.
const PAYLOADS: &[&str] = &[
    "1.0",
    "1e400",
    "-0.0",
    "123456789012345678901234567890.5",
    r#""caf\u00e9 \ud83d\ude00 \/""#,
    r#"{"a":1,"a":2}"#,
    r#"{ "spaced" : [ 1 , 2.50 , 1E+2 ] }"#,
    "null",
    "9007199254740993",
    r#"{"$oid":"x","a.b":{"$date":0}}"#,
];

async fn put_topic(http: &reqwest::Client, hub: &HubProcess, settings: &Value) {
    let put = http.put(format!("{}/topics/{TOPIC}", hub.url())).body(settings.to_string());
    put.header("content-type", "application/json").send().await.unwrap().error_for_status().unwrap();
}

async fn publish(http: &reqwest::Client, hub: &HubProcess, lines: String) {
    let post = http.post(format!("{}/publish", hub.url())).body(lines).header("content-type", "application/x-ndjson");
    let answer = post.send().await.unwrap().error_for_status().unwrap().text().await.unwrap();
    assert!(!answer.contains("problem"), "{answer}");
}

async fn export(http: &reqwest::Client, hub: &HubProcess) -> String {
    let url = format!("{}/export?topic={TOPIC}&ndjson=1", hub.url());
    http.get(url).send().await.unwrap().error_for_status().unwrap().text().await.unwrap()
}

/// The last line of the answer.
async fn import(http: &reqwest::Client, hub: &HubProcess, lines: String) -> Value {
    let answer = http.post(format!("{}/import", hub.url())).body(lines).send().await.unwrap();
    let answer = answer.error_for_status().unwrap().text().await.unwrap();
    serde_json::from_str(answer.trim().lines().last().unwrap()).unwrap()
}

fn line(number: usize) -> String {
    let payload = PAYLOADS[number % PAYLOADS.len()];
    let opts = json!({
        "key": format!("key \"{}\"", number % 7), "ts": number, "sid": "s", "tags": ["one", "\u{e9}"],
        "headers": {"x-number": number.to_string(), "content-type": "application/json"},
        "caused_by": ["0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f"],
    });
    format!("{{\"topic\":\"{TOPIC}\",\"payload\":{payload},\"opts\":{opts}}}\n")
}

/// Exports from one hub and imports into another; both exports are the same text.
async fn round_trip(from: &HubProcess, to: &HubProcess) {
    let http = reqwest::Client::new();
    put_topic(&http, from, &json!({"partitions": 3})).await;
    for batch in 0..5 {
        publish(&http, from, (batch * 100..batch * 100 + 100).map(line).collect()).await;
    }
    // Offsets that are missing: here those of every fifth line, as compaction leaves them.
    let exported = export(&http, from).await;
    let with_holes: String =
        exported.lines().enumerate().filter(|(at, _)| at % 5 != 0).fold(String::new(), |mut text, (_, line)| {
            text.push_str(line);
            text.push('\n');
            text
        });
    put_topic(&http, to, &json!({"partitions": 3})).await;
    let half: Vec<&str> = with_holes.lines().take(150).collect();
    let told = import(&http, to, half.join("\n")).await;
    assert_eq!(told, json!({"imported": 150, "duplicates": 0, "failed": 0}));
    let told = import(&http, to, with_holes.clone()).await;
    assert_eq!(told, json!({"imported": 250, "duplicates": 150, "failed": 0}), "it is gone on with");
    assert_eq!(export(&http, to).await, with_holes, "every byte of every event is the same");

    // A topic that is not empty keeps what it has; what finds its place taken comes behind.
    let told = import(&http, to, exported).await;
    assert_eq!((&told["imported"], &told["duplicates"], &told["failed"]), (&json!(100), &json!(400), &json!(0)));
    let moved = told["moved"].as_u64().unwrap();
    assert!((97..=100).contains(&moved), "all but those at the end of a partition: {moved}");
    let receipt = http.post(format!("{}/publish", to.url())).body(line(1)).send().await.unwrap();
    assert_eq!(receipt.status(), 200, "publishing goes on behind");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_exported_is_imported_byte_for_byte_on_the_embedded_store() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (from, mut to) = (HubProcess::on(one.path()).unwrap(), HubProcess::on(two.path()).unwrap());
    round_trip(&from, &to).await;
    let before = export(&reqwest::Client::new(), &to).await;
    to.kill().unwrap();
    to.restart().unwrap();
    assert_eq!(export(&reqwest::Client::new(), &to).await, before, "the same after it was killed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_exported_is_imported_byte_for_byte_between_both_stores() {
    let url = shared().await.unwrap().fresh_url();
    let mongo = HubProcess::start(&["--store", "mongo", "--mongo", &url], &[]).unwrap();
    let data = tempfile::tempdir().unwrap();
    let embedded = HubProcess::on(data.path()).unwrap();
    round_trip(&embedded, &mongo).await;
    let back = tempfile::tempdir().unwrap();
    let back = HubProcess::on(back.path()).unwrap();
    let http = reqwest::Client::new();
    put_topic(&http, &back, &json!({"partitions": 3})).await;
    let exported = export(&http, &mongo).await;
    import(&http, &back, exported.clone()).await;
    assert_eq!(export(&http, &back).await, exported, "from MongoDB too");
}
