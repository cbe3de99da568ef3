//! `UNSUBSCRIBE{topic, group?}` → `OK`, when its leases are given back.

use super::write::Object;
use super::{Corr, SubscriptionName};

pub fn write(out: &mut Vec<u8>, corr: Option<&Corr>, name: &SubscriptionName) {
    let mut object = Object::frame(out, "UNSUBSCRIBE", corr);
    name.write(&mut object);
    object.end();
}
