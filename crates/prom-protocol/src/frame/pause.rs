//! `PAUSE{topic, group?}` and `RESUME{topic, group?, max_in_flight?}` → `OK`. Leases stay.

use super::client::Fields;
use super::field::{self, optional};
use super::write::Object;
use super::{Corr, FrameError, SubscriptionName};

/// A RESUME; also of a subscription that is not paused, to change its window.
#[derive(Debug, PartialEq, Eq)]
pub struct Resume {
    pub name: SubscriptionName,
    /// The window from now on; where it shrinks, what is leased stays.
    pub max_in_flight: Option<usize>,
}

impl Resume {
    pub(super) fn read(fields: &Fields<'_>) -> Result<Self, FrameError> {
        let max_in_flight = optional("max_in_flight", fields.max_in_flight, field::number)?;
        Ok(Self { name: SubscriptionName::read(fields)?, max_in_flight })
    }
}

pub fn write_pause(out: &mut Vec<u8>, corr: Option<&Corr>, name: &SubscriptionName) {
    let mut object = Object::frame(out, "PAUSE", corr);
    name.write(&mut object);
    object.end();
}

pub fn write_resume(out: &mut Vec<u8>, corr: Option<&Corr>, name: &SubscriptionName, max_in_flight: Option<usize>) {
    let mut object = Object::frame(out, "RESUME", corr);
    name.write(&mut object);
    if let Some(max_in_flight) = max_in_flight {
        object.number("max_in_flight", max_in_flight as u64);
    }
    object.end();
}
