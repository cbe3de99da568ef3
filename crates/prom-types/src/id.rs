//! Event ids: UUIDs, version 7 when we make them, increasing within a process.
//!
//! Ids made elsewhere may be of any version: dead letters and change feeds derive theirs from what
//! they stand for, so that doing the work twice makes the same id twice.

use std::fmt;
use std::sync::Mutex;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::{ContextV7, Timestamp, Uuid};

use crate::EpochMs;
use crate::error::{Invalid, excerpt};

/// The namespace of ids that are derived from a text.
const DERIVED: Uuid = Uuid::from_u128(0x5f0c_8a52_94a1_5c0e_8d1b_70a8_3f6d_2b11);

/// The id of an event: 16 bytes, written in the usual lower-case form with dashes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId([u8; 16]);

impl EventId {
    /// Reads the dashed or plain hexadecimal form.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        match Uuid::try_parse(text) {
            Ok(uuid) if !uuid.is_nil() => Ok(Self(uuid.into_bytes())),
            _ => Err(Invalid::Id { id: excerpt(text) }),
        }
    }

    /// The same text always gives the same id: doing a thing twice stores it once.
    pub fn derived(from: &str) -> Self {
        Self(Uuid::new_v5(&DERIVED, from.as_bytes()).into_bytes())
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Appends the dashed form.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        let mut text = [0u8; 36];
        Uuid::from_bytes(self.0).hyphenated().encode_lower(&mut text);
        out.extend_from_slice(&text);
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Uuid::from_bytes(self.0).hyphenated().fmt(f)
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for EventId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = [0u8; 36];
        serializer.serialize_str(Uuid::from_bytes(self.0).hyphenated().encode_lower(&mut text))
    }
}

impl<'de> Deserialize<'de> for EventId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// Makes version 7 ids that only grow, also when the wall clock stands still or jumps back.
pub struct IdMaker(Mutex<ContextV7>);

impl IdMaker {
    pub fn new() -> Self {
        Self(Mutex::new(ContextV7::new()))
    }

    pub fn make(&self, now: EpochMs) -> EventId {
        let now = now.max(0).unsigned_abs();
        let context = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let nanos = u32::try_from(now % 1000).unwrap_or(0) * 1_000_000;
        let timestamp = Timestamp::from_unix(&*context, now / 1000, nanos);
        EventId(Uuid::new_v7(timestamp).into_bytes())
    }
}

impl Default for IdMaker {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_ids_only_grow_even_when_the_clock_jumps_back() {
        let maker = IdMaker::new();
        let clock = [1_000, 1_000, 5_000, 3, 5_000, 5_001];
        let ids: Vec<_> = (0..60_000).map(|i| maker.make(clock[i / 10_000])).collect();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn ids_survive_their_text_form() {
        let id = IdMaker::new().make(1_700_000_000_000);
        assert_eq!(EventId::parse(&id.to_string()).unwrap(), id);
        let mut text = Vec::new();
        id.write_to(&mut text);
        assert_eq!(text, id.to_string().into_bytes());
        for bad in ["", "abc", "00000000-0000-0000-0000-000000000000"] {
            assert!(EventId::parse(bad).is_err());
        }
    }

    #[test]
    fn derived_ids_depend_on_the_text_alone() {
        assert_eq!(EventId::derived("a"), EventId::derived("a"));
        assert_ne!(EventId::derived("a"), EventId::derived("b"));
    }
}
