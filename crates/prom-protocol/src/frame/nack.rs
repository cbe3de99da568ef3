//! `NACK{topic, group, id, reason?, delay_ms?, unhandled?}` → `OK`: a failed attempt; the event comes again after the
//! group's backoff, or after `delay_ms`. With `unhandled` it was not begun: no attempt is counted, and it is due at once.

use std::borrow::Cow;

use super::client::Fields;
use super::field::{self, optional, required};
use super::write::Object;
use super::{Corr, FrameError, Which};
use crate::limits::{BATCH_ITEMS, REASON_BYTES};

#[derive(Debug, PartialEq, Eq)]
pub struct Nack<'a> {
    pub topic: Cow<'a, str>,
    pub group: Cow<'a, str>,
    pub which: Which,
    pub reason: Cow<'a, str>,
    pub delay_ms: Option<u64>,
    pub unhandled: bool,
}

impl<'a> Nack<'a> {
    pub(super) fn read(fields: &Fields<'a>) -> Result<Self, FrameError> {
        let reason = optional("reason", fields.reason, field::text)?.unwrap_or_default();
        if reason.len() > REASON_BYTES {
            let size = reason.len();
            return Err(FrameError::field("reason", &format!("has {size} bytes, at most {REASON_BYTES} fit")));
        }
        let (topic, group) =
            (required("topic", fields.topic, field::text)?, required("group", fields.group, field::text)?);
        let which = Which::read(fields)?;
        if which.most() > BATCH_ITEMS as u64 {
            // Each keeps the reason.
            return Err(FrameError::TooLarge(format!("a frame gives back at most {BATCH_ITEMS} events")));
        }
        let delay_ms = optional("delay_ms", fields.delay_ms, field::number)?;
        let unhandled = optional("unhandled", fields.unhandled, field::flag)?.unwrap_or_default();
        Ok(Self { topic, group, which, reason, delay_ms, unhandled })
    }

    pub fn write(&self, out: &mut Vec<u8>, corr: Option<&Corr>) {
        let mut object = Object::frame(out, "NACK", corr);
        object.text("topic", &self.topic).text("group", &self.group);
        self.which.write(&mut object);
        object.text("reason", &self.reason);
        if let Some(delay_ms) = self.delay_ms {
            object.number("delay_ms", delay_ms);
        }
        if self.unhandled {
            object.raw("unhandled", b"true");
        }
        object.end();
    }
}
