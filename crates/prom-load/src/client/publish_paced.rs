//! Publishing at a steady pace.

use std::sync::Arc;
use std::time::Instant;

use prom_client::{Client, Publishing, TopicName};
use tokio::sync::mpsc;

use super::publish::event;
use crate::pace::{self, Schedule};
use crate::{PayloadLabel, PublishJob, Published};

struct HandedOver {
    number: u64,
    due: Instant,
    at: Instant,
    publishing: Publishing,
}

/// Hands over each event when it is due. Beyond the job's window it waits; what is due meanwhile is late, and counted as
/// late. Several connections may do one job together.
pub async fn publish_paced(
    client: Client,
    topics: Arc<[TopicName]>,
    job: Arc<PublishJob>,
    schedule: Schedule,
) -> Published {
    let (handed_over, mut answers) = mpsc::channel(job.in_flight);
    let pacing = job.clone();
    let pacer = tokio::task::spawn_blocking(move || {
        pace::run(&pacing, schedule, |number, due| {
            let event = event(&topics, &pacing, PayloadLabel::due(number, due));
            let at = Instant::now();
            let publishing = client.publish_event(event);
            handed_over.blocking_send(HandedOver { number, due, at, publishing }).is_ok()
        });
    });
    let mut published = Published::default();
    while let Some(HandedOver { number, due, at, publishing }) = answers.recv().await {
        published.late.record(at.duration_since(due));
        let answer = tokio::select! {
            answer = publishing => answer,
            () = job.abandoned() => {
                job.unanswered(number..number + 1);
                continue;
            }
        };
        match answer {
            Ok(receipt) => {
                let now = Instant::now();
                published.receipts.record(now.duration_since(due));
                published.stored(&receipt, 1);
                published.last = Some(now);
                job.acked(1);
            }
            Err(error) => job.failed(number..number + 1, &error),
        }
    }
    if let Err(error) = pacer.await {
        job.failures().note_as("client", &format!("the pacer failed: {error}"), 1);
    }
    published
}
