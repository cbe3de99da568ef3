//! `MODACK{topic, group, id, extend_ms}` → `OK`: the deadline is this many milliseconds from now. Of many, as with
//! ACK; those in `unknown` are not leased to the asker.

use std::borrow::Cow;

use super::client::Fields;
use super::field::{self, required};
use super::write::Object;
use super::{Corr, FrameError, Which};

#[derive(Debug, PartialEq, Eq)]
pub struct Modack<'a> {
    pub topic: Cow<'a, str>,
    pub group: Cow<'a, str>,
    pub which: Which,
    pub extend_ms: u64,
}

impl<'a> Modack<'a> {
    pub(super) fn read(fields: &Fields<'a>) -> Result<Self, FrameError> {
        Ok(Self {
            topic: required("topic", fields.topic, field::text)?,
            group: required("group", fields.group, field::text)?,
            which: Which::read(fields)?,
            extend_ms: required("extend_ms", fields.extend_ms, field::number)?,
        })
    }

    pub fn write(&self, out: &mut Vec<u8>, corr: Option<&Corr>) {
        let mut object = Object::frame(out, "MODACK", corr);
        object.text("topic", &self.topic).text("group", &self.group);
        self.which.write(&mut object);
        object.number("extend_ms", self.extend_ms);
        object.end();
    }
}
