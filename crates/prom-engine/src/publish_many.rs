//! Publishing events that have nothing to do with each other, in one hand-over.
//!
//! A gateway reads many publishes at once. Each is admitted or refused for itself; those admitted
//! share one commit, one answer and one wake-up. An atomic batch goes the same way, as one that stands
//! or falls together.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use prom_store::{Append, Commit, Encoder, Outcome, PendingCommit, Stored};
use prom_types::{Durability, EventId, NewEvent, Receipt, TopicName};

use crate::admit::{Admitted, Place};
use crate::topic::{Again, Committing, Concerned, Topic, try_again};
use crate::{Bus, Error};

/// Events on their way into one commit.
pub struct Gathering {
    bus: Bus,
    encoder: Encoder,
    commit: Commit,
    placed: Placed,
    /// Events of topics that are only proposed, and which of all events they are: should a topic turn out
    /// to be another, they are admitted anew.
    proposed: Vec<(usize, NewEvent)>,
}

/// What the events of a gathering are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Together {
    EachForItself,
    Whole,
}

/// An event of a commit that may have to be made anew.
enum Kept {
    /// Its topic is certain.
    Placed(Admitted),
    Draft(NewEvent),
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
            proposed: Vec::new(),
        }
    }

    /// An atomic batch with a topic that is not known here: the store is asked for it first.
    pub(crate) fn look_first(&self, events: &[NewEvent], unknown: &TopicName) -> Gathered {
        let kept = events.iter().cloned().map(Kept::Draft).collect();
        let commit = Committing::after_a_look(unknown, once_more(self.clone(), kept, Together::Whole));
        Gathered { commit, durability: self.store().durability() }
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
        if !admitted.topic.is_stored() {
            self.proposed.push((self.len(), event.clone()));
        }
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
        self.hand_over(Together::EachForItself)
    }

    /// Hands over what was gathered, to be stored whole or not at all.
    pub(crate) fn send_whole(self) -> Gathered {
        self.hand_over(Together::Whole)
    }

    fn hand_over(mut self, together: Together) -> Gathered {
        let again = self.again(together);
        let core = self.bus.core();
        let commit = match together {
            _ if self.commit.is_empty() => PendingCommit::known(Ok(Default::default())),
            Together::EachForItself => core.topics.commit_each(&*core.store, self.commit, &self.placed.topics),
            Together::Whole => core.topics.commit(&*core.store, self.commit, &self.placed.topics),
        };
        Gathered { commit: Committing::new(commit, self.placed, again), durability: core.store.durability() }
    }

    /// What to do should a proposed topic turn out to be another.
    fn again(&mut self, together: Together) -> Option<Again<Placed>> {
        if self.proposed.is_empty() {
            return None;
        }
        let mut proposed = std::mem::take(&mut self.proposed).into_iter().peekable();
        let events = self.placed.events.iter().zip(&self.commit.appends).enumerate();
        let kept: Vec<Kept> = events
            .map(|(at, (event, append))| match proposed.next_if(|(index, _)| *index == at) {
                Some((_, draft)) => Kept::Draft(draft),
                None => Kept::Placed(self.placed.admitted(event, append)),
            })
            .collect();
        Some(once_more(self.bus.clone(), kept, together))
    }
}

/// All of it once more, by what its topics turned out to be.
fn once_more(bus: Bus, kept: Vec<Kept>, together: Together) -> Again<Placed> {
    Box::new(move |refusal| {
        let runtime = bus.core().topics.runtime().clone();
        runtime.spawn(async move {
            let admit = || anew(&bus, &kept).map_err(|error| of_all(error, together));
            try_again(bus.core(), refusal, admit).await
        })
    })
}

fn anew(bus: &Bus, kept: &[Kept]) -> Result<(Commit, Placed), Error> {
    let mut gathering = bus.gather();
    for one in kept {
        match one {
            Kept::Placed(admitted) => gathering.add_admitted(admitted.clone()),
            Kept::Draft(event) => gathering.add(event)?,
        }
    }
    Ok((gathering.commit, gathering.placed))
}

/// What one event is refused for now is told to the others as what it is to them: nothing was stored. Sent again,
/// each is judged for itself.
fn of_all(refusal: Error, together: Together) -> Error {
    match together {
        Together::Whole => refusal,
        Together::EachForItself => Error::PublishFailed { reason: refusal.to_string(), stored: Outcome::NotStored },
    }
}

impl Placed {
    fn admitted(&self, event: &PlacedEvent, append: &Append) -> Admitted {
        Admitted { topic: self.topics[event.topic_at].clone(), append: append.clone(), id: event.id }
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

    fn topics(&self) -> &[Arc<Topic>] {
        &self.topics
    }
}

impl Future for Gathered {
    type Output = Result<Vec<Receipt>, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let (placed, committed) = match ready!(Pin::new(&mut self.commit).poll(context)) {
            Ok(answer) => answer,
            Err(error) => return Poll::Ready(Err(error)),
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
