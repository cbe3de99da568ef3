//! Admission: everything a publish must pass before it is handed to the store.
//!
//! Nothing here waits. What comes out is encoded, has its id and its partition, and breaks no rule.
//! What is refused has left no trace: a topic is made up only for an event that passed every check.

use std::sync::Arc;

use prom_store::{Append, AppendTerms, Dedupe, Encoder};
use prom_types::{EventId, Expectation, Invalid, NewEvent, TopicName, limits, partition_of};

use crate::Error;
use crate::bus::{Core, NewTopics};
use crate::dual_write::DualWriteCopy;
use crate::schema::{Judgement, stamp_here};
use crate::topic::{Topic, TopicSettings};

/// The topic of a publish.
pub(crate) enum TopicSlot {
    /// It is there.
    Topic(Arc<Topic>),
    /// Not there yet; may be made with these settings.
    New(TopicSettings),
    /// Not known here, and never made by publishing; another process may have made it.
    Missing(TopicSettings),
}

/// Who publishes an event: the rules differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PublishedBy {
    Caller,
    /// As `Caller`; its schemas have judged it already.
    Judged,
    /// To its own topics, in sizes that follow from checked events.
    Hub,
}

/// An event that may be stored.
#[derive(Clone)]
pub(crate) struct Admitted {
    pub topic: Arc<Topic>,
    pub append: Append,
    pub id: EventId,
    /// Its form for the topic of its version, where it goes to both.
    pub copy: Option<Box<DualWriteCopy>>,
}

impl TopicSlot {
    pub fn name(&self) -> &TopicName {
        &self.settings().name
    }

    fn settings(&self) -> &TopicSettings {
        match self {
            Self::Topic(topic) => &topic.settings,
            Self::New(settings) | Self::Missing(settings) => settings,
        }
    }
}

impl Core {
    /// The topic of a caller's publish. One look-up in the usual case.
    pub fn slot_for_publish(&self, name: &str) -> Result<TopicSlot, Error> {
        self.check_open()?;
        if let Some(topic) = self.topics.get(name) {
            return Ok(TopicSlot::Topic(topic));
        }
        let topic = TopicName::parse(name)?;
        match self.options.new_topics {
            NewTopics::Create { .. } => Ok(TopicSlot::New(self.settings_of_new(topic))),
            NewTopics::Refuse => Ok(TopicSlot::Missing(TopicSettings::named(topic))),
        }
    }

    /// Every rule for what a caller publishes.
    pub fn check(&self, slot: &TopicSlot, event: &NewEvent, maker: Option<&Arc<str>>) -> Result<(), Error> {
        let settings = slot.settings();
        if settings.name.is_reserved() || settings.snapshot_of.is_some() {
            let name = settings.name.to_string();
            return Err(Invalid::ReservedTopic { name }.into());
        }
        event.check()?;
        if event.key.is_none() && settings.compaction.is_some() && settings.key.is_none() {
            let topic = settings.name.clone();
            return Err(Error::KeyRequired { topic });
        }
        match slot {
            TopicSlot::Topic(_) => {}
            TopicSlot::New(_) => self.check_room_for_topics(maker, 1)?,
            TopicSlot::Missing(settings) => return Err(Error::UnknownTopic { topic: settings.name.clone() }),
        }
        match event.partition {
            Some(chosen) if chosen >= settings.partitions => Err(no_such_partition(settings, chosen)),
            _ => Ok(()),
        }
    }

    /// Whether an event is judged by its schemas on another thread first.
    pub fn is_judged_elsewhere(&self, slot: &TopicSlot, event: &NewEvent) -> bool {
        if self.schemas.is_empty() {
            return false;
        }
        let bytes = event.payload.as_bytes().len();
        match slot {
            TopicSlot::Topic(topic) => topic.schema.must_wait(bytes),
            TopicSlot::New(_) | TopicSlot::Missing(_) => {
                self.schemas.known_slot(slot.name()).is_some_and(|schema| schema.must_wait(bytes))
            }
        }
    }

    /// Whether an event is refused only because its topic is not known here, though others may have made it.
    pub fn may_be_elsewhere(&self, slot: &TopicSlot, refusal: &Error) -> bool {
        let depends = matches!(
            refusal,
            Error::UnknownTopic { .. } | Error::Capped { .. } | Error::Invalid(Invalid::Partition { .. })
        );
        depends && !matches!(slot, TopicSlot::Topic(_)) && self.topics.others_write()
    }

    /// Whether `more` topics may be made.
    pub fn check_room_for_topics(&self, maker: Option<&Arc<str>>, more: usize) -> Result<(), Error> {
        self.topics.check_room(&self.options.caps, maker, more)
    }

    /// Admits an event that passed [`Core::check`]. A topic that it makes counts to `maker`.
    pub fn admit(
        &self,
        slot: TopicSlot,
        event: &NewEvent,
        maker: Option<&Arc<str>>,
        encoder: &mut Encoder,
        judgement: Judgement,
    ) -> Result<Admitted, Error> {
        let stamped = match &slot {
            _ if judgement == Judgement::Done => None,
            TopicSlot::Topic(topic) => stamp_here(&topic.schema, event)?,
            TopicSlot::New(settings) => match self.schemas.known_slot(&settings.name) {
                Some(schema) => stamp_here(&schema, event)?,
                None => None,
            },
            TopicSlot::Missing(_) => None,
        };
        let topic = match slot {
            TopicSlot::Topic(topic) => topic,
            TopicSlot::New(settings) => self.topics.get_or_propose(settings, maker),
            TopicSlot::Missing(settings) => return Err(Error::UnknownTopic { topic: settings.name }),
        };
        // Encoded at one place, which the compiler then puts here: the result is large, and is not copied.
        self.encode(topic, stamped.as_ref().unwrap_or(event), encoder)
    }

    /// Admits what the hub itself writes ([`PublishedBy::Hub`]).
    pub fn admit_own(&self, topic: TopicName, event: &NewEvent, encoder: &mut Encoder) -> Result<Admitted, Error> {
        let slot = match self.topics.get(&topic) {
            Some(topic) => TopicSlot::Topic(topic),
            None => TopicSlot::New(self.settings_of_new(topic)),
        };
        self.admit(slot, event, None, encoder, Judgement::Done)
    }

    /// Admits the form of an event that goes to the topic of its version. That topic is made like the original.
    pub fn admit_copy(
        &self,
        copy: &DualWriteCopy,
        maker: Option<&Arc<str>>,
        encoder: &mut Encoder,
    ) -> Result<Admitted, Error> {
        let slot = match self.topics.get(&copy.settings.name) {
            Some(topic) => TopicSlot::Topic(topic),
            None => {
                self.check_room_for_topics(maker, 1)?;
                TopicSlot::New(copy.settings.clone())
            }
        };
        self.admit(slot, &copy.event, maker, encoder, Judgement::Done)
    }

    fn encode(&self, topic: Arc<Topic>, event: &NewEvent, encoder: &mut Encoder) -> Result<Admitted, Error> {
        let now = self.clock.now_ms();
        let (id, dedupe) = match (event.id, event.exact) {
            (None, _) => (self.ids.make(now), Dedupe::Fresh),
            (Some(id), false) => (id, Dedupe::Window),
            (Some(id), true) => (id, Dedupe::Exact),
        };
        let keyed;
        let event = match (&topic.key, &event.key) {
            (Some(program), None) => {
                keyed = NewEvent { key: program.key_of(event)?, ..event.clone() };
                if keyed.key.is_none() && topic.settings.compaction.is_some() {
                    return Err(Error::KeyRequired { topic: topic.name().clone() });
                }
                &keyed
            }
            _ => event,
        };
        if !event.caused_by.is_empty() {
            // Before it is stored: while nothing is counted, no such event is in the log.
            topic.meter.caused.add(1);
        }
        let partition = partition_for(&topic.settings, event, id);
        let Some(log) = topic.log(partition).cloned() else {
            return Err(no_such_partition(&topic.settings, partition));
        };
        let copy = topic.copy_of(event, id, now)?;
        let terms = match event.expect {
            None => None,
            Some(expected) => Some(terms_of(&topic.settings, event, expected)?),
        };
        let event = encoder.encode(event, id, event.ts.unwrap_or(now))?;
        Ok(Admitted { append: Append { log, event, dedupe, terms }, topic, id, copy })
    }
}

/// What the publisher expects, if the topic can tell.
#[cold]
fn terms_of(settings: &TopicSettings, event: &NewEvent, expected: Expectation) -> Result<Box<AppendTerms>, Error> {
    let refuse = |reason| Err(Error::BadOption { option: "expect", asked: expected.to_string(), reason });
    if let Expectation::KeyOffset(_) = expected {
        if event.key.is_none() {
            return refuse("the event has no key; give it one, or expect an `offset` of the partition");
        }
        if !settings.keeps_versions() {
            return refuse(
                "the topic does not keep the newest offset of each key; set `versions = true` for it, or expect an \
                 `offset` of the partition",
            );
        }
    }
    Ok(Box::new(AppendTerms { expect: Some(expected), stored_ts: None }))
}

/// Chosen by hand, else by the key, else by the id.
fn partition_for(settings: &TopicSettings, event: &NewEvent, id: EventId) -> u32 {
    match (event.partition, settings.partitions, &event.key) {
        (Some(chosen), ..) => chosen,
        (None, 1, _) => 0,
        (None, partitions, Some(key)) => partition_of(key, partitions),
        (None, partitions, None) => partition_of(&id.to_string(), partitions),
    }
}

fn no_such_partition(settings: &TopicSettings, partition: u32) -> Error {
    Error::Invalid(Invalid::Partition { partition, partitions: settings.partitions })
}

/// A batch is held in memory whole, so it has a size.
pub(crate) fn check_batch(events: usize, bytes: usize) -> Result<(), Invalid> {
    let within = |what, size, limit| {
        if size > limit {
            return Err(Invalid::TooLarge { what, size, limit });
        }
        Ok(())
    };
    within("number of events in the batch", events, limits::BATCH_EVENTS)?;
    within("size of the batch", bytes, limits::BATCH_BYTES)
}
