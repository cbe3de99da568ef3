//! What a fold promises: every event once, in order, also where several fold at the same time.

use std::time::Duration;

use prom_engine::{Bus, StoredEvent, TopicSettings, UnitOfWork};
use prom_jobs::{Fold, FoldInto, GoneEvents, JobError};
use prom_store::DocumentWrite;
use prom_types::TopicName;

use super::{TOPIC, bus, publish};

/// Counts events by key, in documents and in memory.
#[derive(Default)]
struct Counts {
    known: std::collections::BTreeMap<String, u64>,
    forgotten: u64,
}

impl Counts {
    async fn count(&mut self, bus: &Bus, key: &str) -> Result<u64, JobError> {
        if let Some(count) = self.known.get(key) {
            return Ok(*count);
        }
        let stored = bus.document("counts", key).await?;
        Ok(stored.map_or(0, |stored| String::from_utf8_lossy(&stored.value).parse().unwrap()))
    }
}

impl FoldInto for Counts {
    async fn take(&mut self, bus: &Bus, events: &[StoredEvent], work: &mut UnitOfWork) -> Result<(), JobError> {
        for event in events {
            let key = event.key().unwrap();
            let count = self.count(bus, key).await? + 1;
            self.known.insert(key.to_owned(), count);
            work.write(DocumentWrite::put("counts", key, count.to_string()));
        }
        Ok(())
    }

    async fn forget(&mut self, _: &Bus, gone: &[GoneEvents], _: &mut UnitOfWork) -> Result<(), JobError> {
        self.forgotten += gone.iter().map(|gone| gone.offsets.end - gone.offsets.start).sum::<u64>();
        Ok(())
    }

    fn reset(&mut self) {
        self.known.clear();
    }
}

async fn counted(bus: &Bus) -> u64 {
    let counts = bus.documents("counts", None, 100).await.unwrap();
    counts.iter().map(|count| String::from_utf8_lossy(&count.value).parse::<u64>().unwrap()).sum()
}

async fn fold(bus: &Bus) -> Fold {
    Fold::open(bus, "counts", TopicName::parse(TOPIC).unwrap()).await.unwrap()
}

#[tokio::test]
async fn every_event_is_folded_once_across_openings() {
    let bus = bus().await;
    fold(&bus).await.catch_up(&mut Counts::default()).await.unwrap();
    publish(&bus, 0..700).await;
    fold(&bus).await.catch_up(&mut Counts::default()).await.unwrap();
    publish(&bus, 700..1300).await;
    let mut again = fold(&bus).await;
    assert_eq!(again.behind().await.unwrap(), 600);
    again.catch_up(&mut Counts::default()).await.unwrap();
    assert_eq!((counted(&bus).await, again.behind().await.unwrap()), (1300, 0));
}

#[tokio::test]
async fn folds_that_run_at_once_count_every_event_once() {
    let bus = bus().await;
    publish(&bus, 0..3000).await;
    let folds = (0..4).map(|_| {
        let bus = bus.clone();
        tokio::spawn(async move { fold(&bus).await.catch_up(&mut Counts::default()).await.unwrap() })
    });
    for fold in folds.collect::<Vec<_>>() {
        fold.await.unwrap();
    }
    assert_eq!(counted(&bus).await, 3000);
}

#[tokio::test]
async fn what_retention_removes_is_forgotten() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new(TOPIC).unwrap().retain_for(Duration::from_millis(1))).await.unwrap();
    publish(&bus, 0..10).await;
    let (mut fold, mut counts) = (fold(&bus).await, Counts::default());
    fold.catch_up(&mut counts).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    bus.retain_now().await.unwrap();
    fold.catch_up(&mut counts).await.unwrap();
    assert_eq!(counts.forgotten, 10);
}
