//! Where one event stands: with each group that reads it, and among the dead letters.
//!
//! Only what is stored or held at this moment can be told: a cursor keeps the failures of events that are not settled, and
//! forgets them with the settlement. Of an event that was handled long ago it is known that it is settled.

use prom_store::{CursorName, Failures, Find, LogName};
use prom_types::{GroupName, Offset};

use crate::dead_letter;
use crate::dispatch::EventAt;
use crate::dispatch::task::DispatchRequest;
use crate::set_aside::{self, GivenMark};
use crate::{Bus, Error, GroupInfo, StoredEvent};

/// How far a group is with an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventStanding {
    /// The group.
    pub group: GroupName,
    /// Where the event is.
    pub state: StandingState,
    /// Failed attempts and returns, and the last reason; only while the event is not settled.
    pub failures: Failures,
    /// Who holds it.
    pub member: Option<String>,
    /// Another hub serves the group, and only what is stored is told.
    pub served_by: Option<String>,
}

/// Where an event is with a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandingState {
    /// Acked, skipped, filtered out, or before the place where the group began.
    Settled,
    /// A member has it.
    InFlight,
    /// It failed, and is tried again.
    Waiting,
    /// It is to be handed out.
    Queued,
    /// The group gave up on it; its dead letter is there, or about to be.
    Dead,
}

impl Bus {
    /// Where an event stands with a group that reads its topic.
    pub async fn standing(&self, event: &StoredEvent, group: &GroupInfo) -> Result<EventStanding, Error> {
        let log = LogName::new(event.topic().clone(), event.partition());
        let (offset, name) = (event.offset(), &group.name);
        let cursor = self.cursor_state(&log, name).await?;
        let failures = cursor.failures.get(&offset).cloned().unwrap_or_default();
        let stored = match cursor.is_settled(offset) {
            true => StandingState::Settled,
            false if failures.attempts > 0 => StandingState::Waiting,
            false => StandingState::Queued,
        };
        let standing = EventStanding { group: name.clone(), state: stored, failures, member: None, served_by: None };
        match self.core().not_elsewhere(name).await {
            Err(Error::ServedElsewhere { url, .. }) => return Ok(EventStanding { served_by: Some(url), ..standing }),
            other => other?,
        }
        let running = self.core().groups.get(name);
        let look = running.ask_if_working(&log, |reply| DispatchRequest::Look { offset, reply }).await;
        let Some((look, member)) = look else {
            return Ok(standing);
        };
        let state = match look.at {
            EventAt::Settled => StandingState::Settled,
            EventAt::Queued => StandingState::Queued,
            EventAt::InFlight(_) => StandingState::InFlight,
            EventAt::Waiting => StandingState::Waiting,
            EventAt::Dying => StandingState::Dead,
        };
        Ok(EventStanding { state, failures: look.failures, member, ..standing })
    }

    /// The newest dead letter of an event for a group, if the group gave up on it and the letter is retained.
    pub async fn letter_of(&self, event: &StoredEvent, group: &GroupName) -> Result<Option<StoredEvent>, Error> {
        let letters = event.topic().dead_letters().and_then(|letters| self.core().topics.get(&letters));
        let Some(letters) = letters else {
            return Ok(None);
        };
        let log = LogName::new(event.topic().clone(), event.partition());
        let cursor = CursorName::new(log, group.clone());
        let key = set_aside::mark_key(&set_aside::gate_key(&cursor), event.offset());
        let mark = set_aside::read_one::<GivenMark>(&**self.store(), set_aside::MARKS, &key).await?;
        let newest = mark.map(|mark| mark.next.unwrap_or(mark.letter));
        let id = newest.unwrap_or_else(|| dead_letter::id_of(&cursor, event.offset(), 0));
        for log in letters.logs() {
            if let Some(offset) = self.store().find(log, Find::Id(id)).await? {
                return self.event_at(&log.topic, log.partition, offset).await;
            }
        }
        Ok(None)
    }

    /// The event at a place, if it is still there.
    pub async fn event_at(&self, topic: &str, partition: u32, offset: Offset) -> Result<Option<StoredEvent>, Error> {
        let page = match self.read(topic, partition, offset, 1).await {
            Err(Error::UnknownTopic { .. } | Error::Invalid(_)) => return Ok(None),
            page => page?,
        };
        Ok(page.events.into_iter().next().filter(|event| event.offset() == offset).map(StoredEvent::into_own_memory))
    }
}
