//! Publishing as fast as the hub answers: so many under way, and for each answer the next one.
//!
//! Answers come in the order of publishing, so only the oldest is waited for; when it comes, all that came with it
//! are taken. No task and no timer per event: the load should not be the slow part.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use prom_client::{Client, Durability, Error, NewEvent, Publishing, PublishingBatch, Receipt, TopicName};

use super::latency::Latencies;
use super::meter::Meter;
use super::payload::{Label, Payloads};
use super::plan::Amount;
use super::stop::Stop;

/// How long answers are waited for after the wish to end.
const GRACE: Duration = Duration::from_secs(5);

/// Makes the events of one publisher.
pub struct Source {
    pub publisher: u16,
    pub topics: Vec<TopicName>,
    pub payloads: Payloads,
    pub next: u64,
}

/// One connection that publishes.
pub struct Publisher {
    pub client: Client,
    pub source: Source,
    pub amount: Amount,
    pub in_flight: usize,
    /// Events in one publish.
    pub batch: usize,
    pub meter: Arc<Meter>,
    pub stop: Stop,
}

/// What became of the events of one publisher.
#[derive(Debug, Clone)]
pub struct Published {
    /// Events that were handed over, numbered from 0.
    pub sent: u64,
    pub stored: u64,
    /// Numbers of those that were refused or not answered.
    pub failed: Vec<u64>,
    pub durability: Vec<(Durability, u64)>,
    pub receipts: Latencies,
    /// From when an event was due until it was handed over, where there was a pace.
    pub late: Latencies,
    pub last: Option<Instant>,
}

/// A publish that is not answered yet.
struct UnderWay {
    first: u64,
    events: u64,
    handed_over: Instant,
    answer: Answer,
}

enum Answer {
    One(Publishing),
    Many(PublishingBatch),
}

impl Source {
    /// The next event, in the next topic.
    pub fn make(&mut self, due_ns: u64) -> NewEvent {
        let number = self.next;
        self.next += 1;
        let topic = &self.topics[(number % self.topics.len() as u64) as usize];
        let label = Label { publisher: self.publisher, number, due_ns };
        NewEvent::new(topic.clone(), self.payloads.make(label))
    }
}

impl Published {
    pub fn new() -> Self {
        Self {
            sent: 0,
            stored: 0,
            failed: Vec::new(),
            durability: Vec::new(),
            receipts: Latencies::new(),
            late: Latencies::new(),
            last: None,
        }
    }

    pub fn stored(&mut self, receipt: &Receipt, events: u64) {
        self.stored += events;
        match self.durability.iter_mut().find(|(durability, _)| *durability == receipt.durability) {
            Some((_, count)) => *count += events,
            None => self.durability.push((receipt.durability, events)),
        }
    }

    /// What others did as well. Their numbers are their own: only how many failed is told.
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.stored += other.stored;
        self.failed.extend_from_slice(&other.failed);
        for (durability, count) in &other.durability {
            match self.durability.iter_mut().find(|(same, _)| same == durability) {
                Some((_, total)) => *total += count,
                None => self.durability.push((*durability, *count)),
            }
        }
        self.receipts.add(&other.receipts);
        self.late.add(&other.late);
        self.last = self.last.max(other.last);
    }

    pub fn failed(&mut self, first: u64, events: u64) {
        self.failed.extend(first..first + events);
    }
}

impl Publisher {
    pub async fn run(mut self) -> Published {
        let mut published = Published::new();
        let mut under_way: VecDeque<UnderWay> = VecDeque::with_capacity(self.in_flight);
        let begun = Instant::now();
        let mut ending: Option<tokio::time::Instant> = None;
        loop {
            if ending.is_none() && (self.stop.is_asked() || self.meter.is_hopeless()) {
                ending = Some(tokio::time::Instant::now() + GRACE);
            }
            if ending.is_none() {
                self.fill(&mut under_way, begun);
            }
            if under_way.is_empty() {
                break;
            }
            let answered = poll_fn(|context| self.poll_answers(context, &mut under_way, &mut published));
            match ending {
                None => tokio::select! {
                    () = answered => {}
                    () = self.stop.asked() => {}
                },
                Some(deadline) => {
                    if tokio::time::timeout_at(deadline, answered).await.is_err() {
                        break;
                    }
                }
            }
        }
        for UnderWay { first, events, .. } in under_way {
            published.failed(first, events);
            self.meter.note_as("unanswered", "the run ended before the hub answered", events);
        }
        published.sent = self.source.next;
        published
    }

    /// Hands over until the window is full or everything is.
    fn fill(&mut self, under_way: &mut VecDeque<UnderWay>, begun: Instant) {
        let now = Instant::now();
        let due_ns = self.meter.nanos(now);
        let mut left = match self.amount {
            Amount::Events(events) => events.saturating_sub(self.source.next),
            Amount::Duration(duration) if now.duration_since(begun) < duration => u64::MAX,
            Amount::Duration(_) => 0,
        };
        while left > 0 && under_way.len() < self.in_flight {
            let first = self.source.next;
            let events = left.min(self.batch as u64);
            let answer = match self.batch {
                1 => Answer::One(self.client.publish_event(self.source.make(due_ns))),
                _ => {
                    let events = (0..events).map(|_| self.source.make(due_ns)).collect();
                    Answer::Many(self.client.publish_batch(events))
                }
            };
            under_way.push_back(UnderWay { first, events, handed_over: now, answer });
            left -= events;
        }
    }

    /// Ready when at least one answer has come; takes all that have.
    fn poll_answers(
        &self,
        context: &mut Context<'_>,
        under_way: &mut VecDeque<UnderWay>,
        published: &mut Published,
    ) -> Poll<()> {
        let stored_before = published.stored;
        let mut taken = Taken::default();
        while let Some(oldest) = under_way.front_mut() {
            let Poll::Ready(answer) = oldest.answer.poll(context) else {
                break;
            };
            let (first, events, handed_over) = (oldest.first, oldest.events, oldest.handed_over);
            under_way.pop_front();
            taken.note(handed_over, &mut published.receipts);
            match answer {
                Ok(Some(receipt)) => published.stored(&receipt, events),
                Ok(None) => {}
                Err(error) => {
                    self.meter.note(&error, events);
                    published.failed(first, events);
                }
            }
        }
        if taken.now.is_none() {
            return Poll::Pending;
        }
        taken.flush(&mut published.receipts);
        published.last = taken.now;
        self.meter.add_published(published.stored - stored_before);
        Poll::Ready(())
    }
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
