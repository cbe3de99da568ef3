//! Publishing as fast as the hub answers: a window of publishes, and for each answer the next one.
//!
//! Answers come in the order of publishing, so only the oldest is waited for; when it comes, all that came with it are
//! taken. No task and no timer per event: the load should not be the slow part.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Instant;

use prom_client::{Client, Error, NewEvent, Publishing, PublishingBatch, Receipt, TopicName};
use prom_types::Json;

use crate::{Latencies, PayloadLabel, PublishJob, Published};

/// A publish that is not answered yet.
struct UnderWay {
    numbers: Range<u64>,
    handed_over: Instant,
    answer: Answer,
}

enum Answer {
    One(Publishing),
    Many(PublishingBatch),
}

/// Publishes until the job has nothing more to do and everything is answered, or it is abandoned.
pub async fn publish(client: &Client, topics: &[TopicName], job: &PublishJob) -> Published {
    let mut published = Published::default();
    let mut under_way = VecDeque::new();
    let mut abandoned = pin!(job.abandoned());
    loop {
        fill(client, topics, job, &mut under_way);
        if under_way.is_empty() {
            break;
        }
        tokio::select! {
            biased;
            () = poll_fn(|context| poll_answers(context, job, &mut under_way, &mut published)) => {}
            () = &mut abandoned => break,
        }
    }
    for UnderWay { numbers, .. } in under_way {
        job.unanswered(numbers);
    }
    published
}

/// The event with this label, in the topic whose turn it is.
pub fn event(topics: &[TopicName], job: &PublishJob, label: PayloadLabel) -> NewEvent {
    NewEvent::new(topics[job.topic_of(label.number)].clone(), Json::trusted(job.payload().make(label)))
}

/// Hands over until the window is full or there is no more to do.
fn fill(client: &Client, topics: &[TopicName], job: &PublishJob, under_way: &mut VecDeque<UnderWay>) {
    let now = Instant::now();
    while under_way.len() < job.in_flight
        && let Some(numbers) = job.take_many(job.batch)
    {
        let event = |number| event(topics, job, job.label(number, now));
        let answer = if job.batch == 1 {
            Answer::One(client.publish_event(event(numbers.start)))
        } else {
            Answer::Many(client.publish_batch(numbers.clone().map(event).collect()))
        };
        under_way.push_back(UnderWay { numbers, handed_over: now, answer });
    }
}

/// Ready when at least one answer has come; takes all that have.
fn poll_answers(
    context: &mut Context<'_>,
    job: &PublishJob,
    under_way: &mut VecDeque<UnderWay>,
    published: &mut Published,
) -> Poll<()> {
    let stored_before = published.stored;
    let mut taken = Taken::default();
    while let Some(oldest) = under_way.front_mut()
        && let Poll::Ready(answer) = oldest.answer.poll(context)
    {
        taken.note(oldest.handed_over, &mut published.receipts);
        let numbers = oldest.numbers.clone();
        under_way.pop_front();
        match answer {
            Ok(Some(receipt)) => published.stored(&receipt, numbers.end - numbers.start),
            Ok(None) => {}
            Err(error) => job.failed(numbers, &error),
        }
    }
    if taken.now.is_none() {
        return Poll::Pending;
    }
    taken.flush(&mut published.receipts);
    published.last = taken.now;
    job.acked(published.stored - stored_before);
    Poll::Ready(())
}

/// Answers that came together: those that were handed over together took equally long.
#[derive(Default)]
struct Taken {
    now: Option<Instant>,
    alike: Option<(Instant, u32)>,
}

impl Taken {
    fn note(&mut self, handed_over: Instant, receipts: &mut Latencies) {
        self.now.get_or_insert_with(Instant::now);
        match &mut self.alike {
            Some((same, count)) if *same == handed_over => *count += 1,
            _ => {
                self.flush(receipts);
                self.alike = Some((handed_over, 1));
            }
        }
    }

    fn flush(&mut self, receipts: &mut Latencies) {
        if let (Some((handed_over, count)), Some(now)) = (self.alike.take(), self.now) {
            receipts.record_many(now.duration_since(handed_over), count);
        }
    }
}

impl Answer {
    /// A batch's receipts say the same about durability.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Receipt>, Error>> {
        match self {
            Self::One(publishing) => Pin::new(publishing).poll(context).map_ok(Some),
            Self::Many(publishing) => Pin::new(publishing).poll(context).map_ok(|receipts| receipts.into_iter().next()),
        }
    }
}
