//! The end of a run: everything is settled, the log is read, and the history is judged.

use std::collections::HashMap;

use prom_client::{Client, ClientOptions, Position};
use prom_testkit::history::clients::{ClientsSummary, Observation, flowed_again, judge};
use prom_testkit::history::read_file;

use super::{Cluster, TOPIC, Worker, until};

impl Cluster {
    /// Stops the load, waits until every group has settled everything, according to `hub`, and judges.
    pub async fn finish(mut self, mut workers: Vec<Worker>, hub: usize) -> ClientsSummary {
        for worker in &mut workers {
            worker.stop_publishing().await;
        }
        let heads = self.heads(hub).await;
        until("the end of every group", async || self.is_settled(&heads).await).await;
        for worker in workers {
            worker.close().await;
        }
        self.read_log(hub, &heads).await;
        self.cursors.finish().await;
        self.recorder.finish().unwrap();
        self.judge()
    }

    /// The next offset of each partition.
    async fn heads(&self, hub: usize) -> HashMap<u32, u64> {
        let topic = self.get(hub, &format!("/topics/{TOPIC}")).await.unwrap();
        let partitions = topic["partitions"].as_array().unwrap();
        let number = |value: &serde_json::Value| value.as_u64().unwrap();
        partitions.iter().map(|one| (number(&one["partition"]) as u32, number(&one["head"]))).collect()
    }

    async fn is_settled(&self, heads: &HashMap<u32, u64>) -> bool {
        let Some(floors) = self.cursors.floors().await else { return false };
        let is_done = |group: &str| {
            heads.iter().all(|(&partition, head)| {
                floors.get(&(group.to_owned(), partition)).copied().unwrap_or_default() >= *head
            })
        };
        self.groups.iter().all(|group| is_done(group.name))
    }

    async fn read_log(&self, hub: usize, heads: &HashMap<u32, u64>) {
        let client = Client::connect(&self.hubs[hub].url(), ClientOptions::default()).await.unwrap();
        let mut tail = client.tail(TOPIC).from(Position::Earliest).start().await.unwrap();
        for _ in 0..heads.values().sum() {
            let event = tail.next().await.unwrap();
            self.recorder.note(Observation::Logged {
                topic: event.topic().to_string(),
                partition: event.partition(),
                offset: event.offset(),
                id: event.id(),
                key: event.key().map(str::to_owned),
                stored_ts: event.stored_ts(),
            });
        }
        client.close().await;
    }

    fn judge(&mut self) -> ClientsSummary {
        let lines = read_file(&self.history).unwrap();
        eprintln!("history: {} lines in {}", lines.len(), self.history.display());
        for flowed in flowed_again(&lines).unwrap() {
            eprintln!("{flowed}");
        }
        match judge(&lines) {
            Ok(summary) => {
                eprintln!("judged: {summary:?}");
                summary
            }
            Err(broken) => {
                let first: Vec<String> = broken.iter().take(20).map(ToString::to_string).collect();
                panic!("{} promises are broken in {}:\n{}", broken.len(), self.history.display(), first.join("\n"))
            }
        }
    }
}
