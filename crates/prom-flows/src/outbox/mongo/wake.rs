//! Waiting for rows by a change stream; by the clock where there is none.
//!
//! Opening the stream ends the wait at once: rows that came before it are found by the claim that follows. A stream that told
//! something is closed, as under load it would tell of every row.

use std::time::Duration;

use mongodb::Collection;
use mongodb::bson::{Document, RawDocumentBuf, doc};
use mongodb::change_stream::ChangeStream;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::super::limits::WOKEN_POLL;

/// How long the server holds an answer back that has nothing to tell.
const AWAIT: Duration = Duration::from_secs(1);

pub struct RowNews {
    rows: Collection<RawDocumentBuf>,
    pipeline: Vec<Document>,
    stream: Mutex<Stream>,
}

enum Stream {
    Closed,
    Open(ChangeStream<RawDocumentBuf>),
    /// Until then nobody tries.
    Refused(Instant),
}

impl RowNews {
    /// Of a collection of rows.
    pub fn of_rows(rows: Collection<RawDocumentBuf>) -> Self {
        Self::matching(rows, doc! { "operationType": { "$in": ["insert", "update", "replace"] } })
    }

    /// Of an array field. Most of what changes in business documents is not about it.
    pub fn of_field(documents: Collection<RawDocumentBuf>, field: &str) -> Self {
        let came = doc! {
            "operationType": { "$in": ["insert", "replace"] },
            format!("fullDocument.{field}.0"): { "$exists": true },
        };
        let is_of_field = doc! { "$eq": [{ "$indexOfBytes": ["$$this.k", field] }, 0] };
        let updated = doc! { "$objectToArray": { "$ifNull": ["$updateDescription.updatedFields", {}] } };
        let any = doc! { "$anyElementTrue": [{ "$map": { "input": updated, "in": is_of_field } }] };
        Self::matching(documents, doc! { "$or": [came, { "operationType": "update", "$expr": any }] })
    }

    fn matching(rows: Collection<RawDocumentBuf>, news: Document) -> Self {
        // Only that there is something matters.
        let pipeline = vec![doc! { "$match": news }, doc! { "$project": { "operationType": 1, "ns": 1 } }];
        Self { rows, pipeline, stream: Mutex::new(Stream::Closed) }
    }

    pub async fn wait(&self, poll: Duration) {
        let before = std::mem::replace(&mut *self.stream.lock(), Stream::Closed);
        let after = match before {
            Stream::Open(mut stream) => match heard(&mut stream).await {
                Heard::Nothing => Stream::Open(stream),
                Heard::Something => Stream::Closed,
                Heard::End(reason) => refused(&reason),
            },
            Stream::Refused(until) if Instant::now() < until => {
                sleep(poll).await;
                Stream::Refused(until)
            }
            Stream::Closed | Stream::Refused(_) => match self.open().await {
                Ok(stream) => Stream::Open(stream),
                Err(error) => refused(&error.kind.to_string()),
            },
        };
        *self.stream.lock() = after;
    }

    async fn open(&self) -> Result<ChangeStream<RawDocumentBuf>, mongodb::error::Error> {
        let watch = self.rows.watch().pipeline(self.pipeline.clone()).max_await_time(AWAIT);
        Ok(watch.await?.with_type())
    }
}

enum Heard {
    Nothing,
    Something,
    End(String),
}

async fn heard(stream: &mut ChangeStream<RawDocumentBuf>) -> Heard {
    let begin = Instant::now();
    while begin.elapsed() < WOKEN_POLL {
        match stream.next_if_any().await {
            Ok(Some(_)) => return Heard::Something,
            Ok(None) if stream.is_alive() => {}
            Ok(None) => return Heard::End("it ended".to_owned()),
            Err(error) => return Heard::End(error.kind.to_string()),
        }
    }
    Heard::Nothing
}

/// The clock wakes meanwhile.
fn refused(reason: &str) -> Stream {
    tracing::warn!(reason, "an outbox has no change stream and polls for a while");
    Stream::Refused(Instant::now() + WOKEN_POLL)
}
