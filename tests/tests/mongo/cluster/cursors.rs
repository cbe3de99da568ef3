//! The cursors in the database: polled continuously, written down when they change hands.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use mongodb::bson::{Document, doc};
use mongodb::options::ReadConcern;
use mongodb::{Client, Collection, Database};
use prom_testkit::history::clients::{Observation, Recorder};
use tokio::task::JoinHandle;

use super::TOPIC;

const LOOK_EVERY: Duration = Duration::from_millis(30);
/// Cursors that did not change hands are also written down now and then.
const WRITE_EACH: u64 = 30;

pub struct CursorWatch {
    database: Database,
    recorder: Arc<Recorder>,
    watching: JoinHandle<()>,
}

type Cursor = (String, u32, u64, u64);

impl CursorWatch {
    pub async fn watch(url: &str, recorder: Arc<Recorder>) -> Self {
        let database = Client::with_uri_str(url).await.unwrap().database("prom");
        let watching = tokio::spawn(follow(collection(&database), recorder.clone()));
        Self { database, recorder, watching }
    }

    /// The address of the hub that dispatches a group.
    pub async fn owner_url(&self, group: &str) -> Option<String> {
        let owner = self.database.collection::<Document>("owners").find_one(doc! { "_id": group }).await.ok()??;
        Some(owner.get_document("value").ok()?.get_str("url").ok()?.to_owned())
    }

    /// Floors by group and partition.
    pub async fn floors(&self) -> Option<HashMap<(String, u32), u64>> {
        let cursors = read(&collection(&self.database)).await.ok()?;
        Some(cursors.into_iter().map(|(group, partition, _, floor)| ((group, partition), floor)).collect())
    }

    /// The last poll.
    pub async fn finish(&self) {
        self.watching.abort();
        let since_us = self.recorder.now_us();
        for cursor in read(&collection(&self.database)).await.unwrap() {
            self.recorder.note(seen(cursor, since_us));
        }
    }
}

impl Drop for CursorWatch {
    fn drop(&mut self) {
        self.watching.abort();
    }
}

fn collection(database: &Database) -> Collection<Document> {
    let options = mongodb::options::CollectionOptions::builder().read_concern(ReadConcern::majority()).build();
    database.collection_with_options("cursors", options)
}

async fn follow(cursors: Collection<Document>, recorder: Arc<Recorder>) {
    let mut epochs: HashMap<(String, u32), u64> = HashMap::new();
    let mut last_read_us = recorder.now_us();
    for round in 0.. {
        tokio::time::sleep(LOOK_EVERY).await;
        let begun_us = recorder.now_us();
        // No primary: changes are seen later.
        let Ok(found) = read(&cursors).await else { continue };
        for cursor in found {
            let before = epochs.insert((cursor.0.clone(), cursor.1), cursor.2);
            if before != Some(cursor.2) || round % WRITE_EACH == 0 {
                recorder.note(seen(cursor, last_read_us));
            }
        }
        last_read_us = begun_us;
    }
}

async fn read(cursors: &Collection<Document>) -> mongodb::error::Result<Vec<Cursor>> {
    let found: Vec<Document> = cursors.find(doc! { "topic": TOPIC }).await?.try_collect().await?;
    let read = |cursor: Document| {
        let number = |name: &str| cursor.get_i64(name).ok().map(|number| number as u64);
        let partition = cursor.get_i32("partition").ok()? as u32;
        Some((cursor.get_str("group").ok()?.to_owned(), partition, number("epoch")?, number("floor")?))
    };
    Ok(found.into_iter().map(|cursor| read(cursor).unwrap()).collect())
}

fn seen((group, partition, epoch, floor): Cursor, since_us: u64) -> Observation {
    Observation::Cursor { group, topic: TOPIC.to_owned(), partition, epoch, floor, since_us }
}
