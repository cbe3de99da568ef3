//! `PAUSE{topic, group?}` and `RESUME{topic, group?}` → `OK`. Leases stay.

use super::write::Object;
use super::{Corr, SubscriptionName};

pub fn write_pause(out: &mut Vec<u8>, corr: Option<&Corr>, name: &SubscriptionName) {
    let mut object = Object::frame(out, "PAUSE", corr);
    name.write(&mut object);
    object.end();
}

pub fn write_resume(out: &mut Vec<u8>, corr: Option<&Corr>, name: &SubscriptionName) {
    let mut object = Object::frame(out, "RESUME", corr);
    name.write(&mut object);
    object.end();
}
