//! Ephemeral subscriptions: every event from a position on, no group, no leases, no acks.
//!
//! The reader pulls: nothing is read before it asks, so a slow one costs nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use hashbrown::HashMap;
use prom_store::{HeadWatch, LogName, ReadLimit};
use prom_types::{Offset, TopicPattern};
use tokio::sync::watch;

use crate::bus::BusPhase;
use crate::event::EventOrigin;
use crate::gap::gap;
use crate::held_bytes::HeldBytes;
use crate::limits::{READ_BYTES, TAIL_READ_EVENTS};
use crate::outlet::EventForm;
use crate::position::resolve;
use crate::topic::Topic;
use crate::{BeyondEnd, Bus, Error, Gap, GapReason, MaskedView, Position, StoredEvent, TopicOffsets};

/// A tail being put together.
#[must_use = "nothing is read until start"]
pub struct TailOptions<'a> {
    bus: &'a Bus,
    topics: Vec<String>,
    from: TailStart,
    form: EventForm,
    masks: Option<MaskedView>,
}

/// Where a tail begins.
enum TailStart {
    Position(Position),
    /// In the partitions of its one topic.
    Offsets(TopicOffsets),
}

/// Events of the topics it follows: in offset order within each partition.
pub struct Tail {
    bus: Bus,
    patterns: Vec<TopicPattern>,
    logs: Vec<Reading>,
    by_name: HashMap<LogName, usize>,
    /// Logs that may have something to read, in turn.
    due: VecDeque<usize>,
    /// One per log that has been read to its end.
    waiting: FuturesUnordered<BoxFuture<'static, Option<(usize, HeadWatch)>>>,
    buffer: VecDeque<StoredEvent>,
    /// What the last read brought, until all of it is taken.
    held: HeldBytes,
    gaps: VecDeque<Gap>,
    grown: watch::Receiver<usize>,
    topics_seen: usize,
    phase: watch::Receiver<BusPhase>,
    form: EventForm,
    /// What its reader may see of events that have hidden parts; `None` is everything.
    masks: Option<MaskedView>,
}

struct Reading {
    origin: Arc<EventOrigin>,
    next: Offset,
    /// Here unless it waits.
    head: Option<HeadWatch>,
}

impl Bus {
    /// Follows a topic or a pattern without a group: for live views, for looking.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), prom_engine::Error> {
    /// # let store = std::sync::Arc::new(prom_store::MemoryStore::new(std::sync::Arc::new(prom_store::SystemClock::new())));
    /// # let bus = prom_engine::Bus::start(store, Default::default()).await?;
    /// use prom_engine::Position;
    /// use serde_json::json;
    ///
    /// bus.publish("orders.placed", json!(7)).await?;
    /// let mut tail = bus.tail("orders.**").from(Position::Earliest).start().await?;
    /// let event = tail.next().await?.expect("the bus is open");
    /// assert_eq!(event.payload::<u32>()?, 7);
    /// # Ok(())
    /// # }
    /// ```
    pub fn tail(&self, topic: &str) -> TailOptions<'_> {
        let from = TailStart::Position(Position::Latest);
        TailOptions { bus: self, topics: vec![topic.to_owned()], from, form: EventForm::Stored, masks: None }
    }
}

impl TailOptions<'_> {
    /// Where to begin in topics that are there; [`Position::Latest`] unless said. Later ones begin at 0.
    pub fn from(mut self, position: Position) -> Self {
        self.from = TailStart::Position(position);
        self
    }

    /// Where to begin in each partition, for a tail of one topic that continues an earlier one. What is not there any more
    /// is told as a gap.
    pub fn at(mut self, offsets: TopicOffsets) -> Self {
        self.from = TailStart::Offsets(offsets);
        self
    }

    /// More topics or patterns.
    pub fn topics<T: Into<String>>(mut self, more: impl IntoIterator<Item = T>) -> Self {
        self.topics.extend(more.into_iter().map(Into::into));
        self
    }

    /// Events come as the latest version of their topic's schema has them. What cannot be brought there comes as it is
    /// stored, and the header `x-upcast-error` says why.
    pub fn normalize(mut self) -> Self {
        self.form = EventForm::Normalized;
        self
    }

    /// For a reader from whom the masks of topics hide what they name.
    pub fn masked(mut self) -> Self {
        self.masks = Some(self.bus.masked_view());
        self
    }

    /// Begins to follow.
    pub async fn start(self) -> Result<Tail, Error> {
        let core = self.bus.core();
        core.check_open()?;
        crate::subscribe::check_topics(self.topics.len())?;
        let patterns = self.topics.iter().map(|topic| TopicPattern::parse(topic));
        let mut tail = Tail {
            bus: self.bus.clone(),
            patterns: patterns.collect::<Result<_, _>>()?,
            logs: Vec::new(),
            by_name: HashMap::new(),
            due: VecDeque::new(),
            waiting: FuturesUnordered::new(),
            buffer: VecDeque::new(),
            held: HeldBytes::new(&core.delivery_memory),
            gaps: VecDeque::new(),
            grown: core.topics.watch(),
            topics_seen: 0,
            phase: core.watch_phase(),
            form: self.form,
            masks: self.masks,
        };
        core.topics.find_named(&*core.store, &tail.patterns).await?;
        let (topics, seen) = core.topics.since(0);
        tail.topics_seen = seen;
        let matching = topics.iter().filter(|topic| tail.matches(topic));
        let mut logs: Vec<LogName> = matching.flat_map(|topic| topic.logs().iter().cloned()).collect();
        logs.sort_unstable();
        logs.dedup();
        let offsets = match self.from {
            TailStart::Position(position) => resolve(position, BeyondEnd::Refuse, &*core.store, &logs).await?,
            TailStart::Offsets(TopicOffsets(mut offsets)) => {
                offsets.resize(logs.len(), 0);
                offsets
            }
        };
        logs.into_iter().zip(offsets).for_each(|(log, next)| tail.follow(log, next));
        Ok(tail)
    }
}

impl Tail {
    /// The next event; `None` when the bus shuts down. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Result<Option<StoredEvent>, Error> {
        loop {
            if let Some(event) = self.buffer.pop_front() {
                return Ok(Some(event));
            }
            self.held.tell(0);
            if *self.phase.borrow_and_update() != BusPhase::Open {
                return Ok(None);
            }
            self.take_in_new_topics();
            match self.due.front().copied() {
                Some(at) => self.read(at).await?,
                None => self.wait().await?,
            }
        }
    }

    /// All that is there, at least one event; empty when the bus shuts down.
    pub async fn next_batch(&mut self) -> Result<Vec<StoredEvent>, Error> {
        let Some(first) = self.next().await? else {
            return Ok(Vec::new());
        };
        let mut batch = vec![first];
        batch.extend(self.buffer.drain(..));
        self.held.tell(0);
        Ok(batch)
    }

    /// Gaps that were not taken yet.
    pub fn take_gaps(&mut self) -> Vec<Gap> {
        self.gaps.drain(..).collect()
    }

    fn matches(&self, topic: &Topic) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(topic.name()))
    }

    fn follow(&mut self, log: LogName, next: Offset) {
        if self.by_name.contains_key(&log) {
            return;
        }
        self.by_name.insert(log.clone(), self.logs.len());
        self.due.push_back(self.logs.len());
        self.logs.push(Reading {
            head: Some(self.bus.core().store.watch(&log)),
            origin: EventOrigin::plain(log),
            next,
        });
    }

    fn take_in_new_topics(&mut self) {
        self.grown.borrow_and_update();
        let (topics, seen) = self.bus.core().topics.since(self.topics_seen);
        self.topics_seen = seen;
        for topic in topics {
            if self.matches(&topic) {
                topic.logs().iter().for_each(|log| self.follow(log.clone(), 0));
            }
        }
    }

    async fn read(&mut self, at: usize) -> Result<(), Error> {
        let reading = &mut self.logs[at];
        // Looked at before reading: what is appended meanwhile wakes us.
        if let Some(head) = &mut reading.head {
            head.bounds();
        }
        let limit = ReadLimit { events: TAIL_READ_EVENTS, bytes: self.held.limit(READ_BYTES) };
        let page = self.bus.core().read_page(&reading.origin, reading.next, limit).await?;
        // Before anything is taken note of: a caller may drop this future, and read again.
        let events = match &mut self.masks {
            Some(masks) => masks.apply(page.events).await?,
            None => page.events,
        };
        let events = match self.form {
            EventForm::Stored => events,
            EventForm::Normalized => self.bus.normalize_or_mark(events).await,
        };
        let mut lost = Vec::new();
        if page.bounds.start > reading.next {
            lost.push((reading.next..page.bounds.start, GapReason::Retention));
        }
        if let Some(damage) = &page.damage {
            let range = damage.lost.clone().unwrap_or(reading.next..page.next);
            lost.push((range, GapReason::Damage(damage.to_string())));
        }
        let log = &reading.origin.log;
        if !lost.is_empty()
            && let Some(topic) = self.bus.core().topics.get(&log.topic)
        {
            topic.meter.lost_to_tails.add(lost.iter().map(|(range, _)| range.end.saturating_sub(range.start)).sum());
        }
        self.gaps.extend(lost.into_iter().map(|(range, reason)| gap(log, range, reason)));
        while self.gaps.len() > crate::limits::GAPS {
            self.gaps.pop_front();
        }
        self.buffer.extend(events);
        self.held.tell(self.buffer.iter().map(|event| event.record.len()).sum());
        reading.next = reading.next.max(page.next);
        // The others come first next time.
        self.due.pop_front();
        if reading.next < page.bounds.next {
            self.due.push_back(at);
        } else if let Some(mut head) = reading.head.take() {
            self.waiting.push(Box::pin(async move { head.changed().await.ok().map(|()| (at, head)) }));
        }
        Ok(())
    }

    async fn wait(&mut self) -> Result<(), Error> {
        tokio::select! {
            Some(changed) = self.waiting.next() => match changed {
                Some((at, head)) => {
                    self.logs[at].head = Some(head);
                    self.due.push_back(at);
                }
                None => return Err(Error::Closed),
            },
            _ = self.grown.changed() => {}
            _ = self.phase.changed() => {}
        }
        Ok(())
    }
}
