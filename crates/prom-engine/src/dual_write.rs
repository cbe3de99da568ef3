//! Dual write: an event goes to its topic and to the topic of its version, both or neither.
//!
//! ```text
//!   heartbeat.received ── version 2 ──▶ heartbeat.received
//!                                  └──▶ heartbeat.received.v2      the same id, key, headers and payload
//! ```
//!
//! So readers can move to the topic of one version while writers still publish as before. It is a setting of the topic, or
//! is asked for by a publisher. What has no version has no copy.

use prom_types::{EpochMs, EventId, NewEvent, TopicName};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::topic::{Topic, TopicSettings};

/// How long a topic is written to twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DualWrite {
    /// Until then; for good if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<EpochMs>,
}

/// The form of an event for the topic of its version.
#[derive(Debug, Clone)]
pub(crate) struct DualWriteCopy {
    /// Of that topic, should it not exist.
    pub settings: TopicSettings,
    pub event: NewEvent,
}

impl DualWrite {
    fn is_on(self, now: EpochMs) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}

impl Topic {
    /// The copy of a stamped event, if it goes to two topics. Most do not, which costs two looks.
    #[inline]
    pub(crate) fn copy_of(
        &self,
        event: &NewEvent,
        id: EventId,
        now: EpochMs,
    ) -> Result<Option<Box<DualWriteCopy>>, Error> {
        if event.dual_write || self.settings.dual_write.is_some() { self.copy(event, id, now) } else { Ok(None) }
    }

    #[cold]
    fn copy(&self, event: &NewEvent, id: EventId, now: EpochMs) -> Result<Option<Box<DualWriteCopy>>, Error> {
        let is_on = event.dual_write || self.settings.dual_write.is_some_and(|dual_write| dual_write.is_on(now));
        if !is_on {
            return Ok(None);
        }
        // What a publisher writes into the header counts only as far as it names a version that is registered: it would
        // lead the copy to any topic below this one.
        let Some(version) = self.schema.registered().and_then(|schemas| schemas.live_version_of(&event.headers)) else {
            return Ok(None);
        };
        let name = versioned(self.name(), version)?;
        let settings = TopicSettings { name: name.clone(), dual_write: None, ..self.settings.clone() };
        // What the publisher expects is of its topic: both are stored if that holds.
        // Exact: a cutover that comes later finds what is there already.
        let ts = Some(event.ts.unwrap_or(now));
        let event =
            NewEvent { topic: name, id: Some(id), ts, exact: true, dual_write: false, expect: None, ..event.clone() };
        Ok(Some(Box::new(DualWriteCopy { settings, event })))
    }
}

/// `heartbeat.received.v2`.
pub(crate) fn versioned(topic: &TopicName, version: u32) -> Result<TopicName, Error> {
    Ok(TopicName::parse(&format!("{topic}.v{version}"))?)
}
