//! A hub whose standard error takes nothing: it works as any other.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use prom_client::{Client, ClientOptions, Mode, Position, json};
use prom_testkit::HubProcess;

/// Nothing here takes this long unless it hangs.
const DEADLINE: Duration = Duration::from_secs(30);
/// What a pipe holds before its writer waits.
const PIPE_BYTES: usize = 64 * 1024;

/// Lets dispatchers and coordinators log, and looks whether they go on.
async fn it_works(mut hub: HubProcess) {
    let client = Client::connect(&hub.url(), ClientOptions::default()).await.unwrap();
    for number in 0..30 {
        // The filter fails on text, and the dispatcher says so.
        let payload = if number % 10 == 5 { json!("text") } else { json!(number) };
        client.publish("orders", payload).await.unwrap();
    }
    let orders = client.subscribe("orders", "g").mode(Mode::Partitioned).filter(".payload + 1 > 0");
    let mut orders = orders.from(Position::Earliest).start().await.unwrap();
    for number in (0..30).filter(|number| number % 10 != 5) {
        let delivery = tokio::time::timeout(DEADLINE, orders.next()).await.expect("nothing came").unwrap();
        assert_eq!(delivery.payload::<u64>().unwrap(), number);
        tokio::time::timeout(DEADLINE, delivery.ack()).await.expect("no answer").unwrap();
    }
    client.close().await;
    let metrics = reqwest::get(format!("{}/metrics", hub.url())).await.unwrap().text().await.unwrap();
    assert!(metrics.contains("events_acked_total") && !metrics.contains("task_failures_total"), "{metrics}");
    assert_eq!(hub.stop().unwrap().code(), Some(0));
}

/// A pipe with a name, and its end that reads.
fn pipe(directory: &Path) -> (PathBuf, File) {
    let path = directory.join("log");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    // Opened for both, it waits for no writer.
    let reader = File::options().read(true).write(true).open(&path).unwrap();
    (path, reader)
}

fn hub_logging_to(log: &Path, data: &Path) -> HubProcess {
    let data = data.join("data");
    HubProcess::start_logging_to(log, &["--data", &data.to_string_lossy(), "--log", "debug"], &[]).unwrap()
}

#[tokio::test]
async fn a_hub_whose_log_is_on_a_full_disk_works() {
    let directory = tempfile::tempdir().unwrap();
    it_works(hub_logging_to(Path::new("/dev/full"), directory.path())).await;
}

#[tokio::test]
async fn a_hub_whose_log_is_a_closed_pipe_works() {
    let directory = tempfile::tempdir().unwrap();
    let (log, reader) = pipe(directory.path());
    let hub = hub_logging_to(&log, directory.path());
    drop(reader);
    it_works(hub).await;
}

#[tokio::test]
async fn a_hub_whose_log_is_read_by_nobody_works_and_ends() {
    let directory = tempfile::tempdir().unwrap();
    let (log, mut reader) = pipe(directory.path());
    reader.write_all(&[b'\n'; PIPE_BYTES]).unwrap();
    it_works(hub_logging_to(&log, directory.path())).await;
}
