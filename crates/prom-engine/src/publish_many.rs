//! Publishing events that have nothing to do with each other, in one hand-over.
//!
//! A gateway reads many publishes at once. Each is admitted or refused for itself; those admitted
//! share one commit, one answer and one wake-up.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use prom_store::{Commit, Encoder, PendingCommit, Stored};
use prom_types::{Durability, EventId, NewEvent, Receipt};
use tokio::runtime::Handle;

use crate::admit::{Admitted, Place};
use crate::topic::{Committing, Concerned, Topic};
use crate::{Bus, Error};

/// Events on their way into one commit.
pub struct Gathering {
    bus: Bus,
    encoder: Encoder,
    commit: Commit,
    placed: Placed,
}

/// Ready with the receipts, in the order in which the events were added, when all are durable; or
/// with the one reason why none is known to be. Dropping it withdraws nothing.
#[must_use = "the events are durable only once this is ready"]
pub struct Gathered {
    commit: Committing<Placed>,
    durability: Durability,
}

/// The events of a commit, and the topics they are of.
#[derive(Default)]
struct Placed {
    topics: Vec<Arc<Topic>>,
    events: Vec<PlacedEvent>,
}

struct PlacedEvent {
    id: EventId,
    partition: u32,
    /// Which of the topics.
    topic_at: usize,
}

impl Bus {
    /// Begins to gather publishes that stand each for itself.
    pub fn gather(&self) -> Gathering {
        Gathering {
            bus: self.clone(),
            encoder: Encoder::default(),
            commit: Commit::default(),
            placed: Placed::default(),
        }
    }

    /// Publishes events that stand each for itself: one that is refused does not hold up the others.
    /// Results in their order.
    pub fn publish_many(
        &self,
        events: Vec<NewEvent>,
    ) -> impl Future<Output = Vec<Result<Receipt, Error>>> + Send + use<> {
        let mut gathering = self.gather();
        let admitted: Vec<Result<(), Error>> = events.iter().map(|event| gathering.add(event)).collect();
        let gathered = gathering.send();
        async move {
            let mut receipts = match gathered.await {
                Ok(receipts) => receipts.into_iter(),
                Err(error) => return admitted.into_iter().map(|one| one.and_then(|()| Err(error.again()))).collect(),
            };
            admitted.into_iter().map(|one| one.and_then(|()| receipts.next().ok_or(Error::Closed))).collect()
        }
    }
}

impl Gathering {
    /// Admits one more; what is refused leaves no trace.
    pub fn add(&mut self, event: &NewEvent) -> Result<(), Error> {
        let core = self.bus.core();
        let place = core.place_for_publish(&event.topic)?;
        core.check(&place, event)?;
        self.admit(place, event)
    }

    /// Admits an event that passed every check.
    pub(crate) fn admit(&mut self, place: Place, event: &NewEvent) -> Result<(), Error> {
        let admitted = self.bus.core().admit(place, event, &mut self.encoder)?;
        self.add_admitted(admitted);
        Ok(())
    }

    fn add_admitted(&mut self, admitted: Admitted) {
        let topics = &mut self.placed.topics;
        let known = topics.iter().rposition(|topic| Arc::ptr_eq(topic, &admitted.topic));
        let topic_at = known.unwrap_or_else(|| {
            topics.push(admitted.topic);
            topics.len() - 1
        });
        let partition = admitted.append.log.partition;
        self.placed.events.push(PlacedEvent { id: admitted.id, partition, topic_at });
        self.commit.appends.push(admitted.append);
    }

    pub fn is_empty(&self) -> bool {
        self.placed.events.is_empty()
    }

    pub fn len(&self) -> usize {
        self.placed.events.len()
    }

    /// Hands over what was gathered.
    pub fn send(self) -> Gathered {
        let core = self.bus.core();
        let commit = match self.commit.is_empty() {
            true => PendingCommit::known(Ok(Default::default())),
            false => core.topics.commit_each(&*core.store, self.commit, &self.placed.topics),
        };
        Gathered { commit: Committing::new(commit, self.placed), durability: core.store.durability() }
    }
}

impl Concerned for Placed {
    fn hear(&self, stored: &[Stored]) {
        let mut rest = stored;
        for run in self.events.chunk_by(|a, b| a.topic_at == b.topic_at) {
            let (of_run, behind) = rest.split_at(run.len().min(rest.len()));
            self.topics[run[0].topic_at].committed(of_run);
            rest = behind;
        }
    }

    fn home(&self) -> Option<&Handle> {
        self.topics.first().map(|topic| topic.runtime())
    }
}

impl Future for Gathered {
    type Output = Result<Vec<Receipt>, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (placed, committed) = match ready!(Pin::new(&mut self.commit).poll(context)) {
            Ok(answer) => answer,
            Err(error) => return Poll::Ready(Err(Error::publish(error))),
        };
        let receipts = placed.events.into_iter().zip(committed.stored).map(|(event, stored)| Receipt {
            id: event.id,
            partition: event.partition,
            offset: stored.offset,
            stored_ts: stored.stored_ts,
            durability: self.durability,
        });
        Poll::Ready(Ok(receipts.collect()))
    }
}
