//! Event ids: UUIDs, version 7 when we make them, increasing within a process.
//!
//! Ids made elsewhere may be of any version: dead letters and change feeds derive theirs from what
//! they stand for, so that doing the work twice makes the same id twice.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::EpochMs;
use crate::error::{Invalid, excerpt};

/// The namespace of ids that are derived from a text.
const DERIVED: Uuid = Uuid::from_u128(0x5f0c_8a52_94a1_5c0e_8d1b_70a8_3f6d_2b11);

/// The id of an event: 16 bytes, written in the usual lower-case form with dashes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, format = "uuid"))]
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

    /// From its sixteen bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Its sixteen bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The moment that a version 7 id carries.
    pub fn made_ms(&self) -> Option<EpochMs> {
        let millis = self.0[..6].iter().fold(0, |millis, byte| millis << 8 | EpochMs::from(*byte));
        (self.0[6] >> 4 == 7).then_some(millis)
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
///
/// An id is 48 bits of milliseconds, 22 bits that count within the millisecond, and 52 bits that
/// tell makers apart. No lock and no system call: making one costs a few nanoseconds.
pub struct IdMaker {
    /// Milliseconds and counter of the last id.
    last: AtomicU64,
    seed: u64,
}

const COUNTER_BITS: u32 = 22;

impl IdMaker {
    /// A maker whose ids sort by time.
    pub fn new() -> Self {
        let seed = Uuid::new_v4().as_u128();
        Self::seeded((seed >> 64) as u64 ^ seed as u64)
    }

    /// The same seed and the same clock give the same ids. Two makers need different seeds.
    pub fn seeded(seed: u64) -> Self {
        Self { last: AtomicU64::new(0), seed }
    }

    /// The next id at this time.
    pub fn make(&self, now: EpochMs) -> EventId {
        let now = now.max(0).unsigned_abs() << COUNTER_BITS;
        let advance = |last: u64| Some(now.max(last + 1));
        let last = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, advance).unwrap_or_else(|last| last);
        let moment = now.max(last + 1);
        let millis = u128::from(moment >> COUNTER_BITS);
        let counter = u128::from(moment & ((1 << COUNTER_BITS) - 1));
        let random = u128::from(scatter(moment ^ self.seed) >> 12);
        let (high, low) = (counter >> 10, counter & 0x3ff);
        let id = millis << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low << 52 | random;
        EventId(id.to_be_bytes())
    }
}

/// Spreads a number over all its bits (the finaliser of SplitMix64).
fn scatter(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
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
    fn made_ids_are_version_7_and_carry_their_time() {
        let id = Uuid::from_bytes(*IdMaker::new().make(1_700_000_000_123).as_bytes());
        assert_eq!(id.get_version_num(), 7);
        assert_eq!(id.get_variant(), uuid::Variant::RFC4122);
        let (seconds, nanos) = id.get_timestamp().unwrap().to_unix();
        assert_eq!((seconds, nanos / 1_000_000), (1_700_000_000, 123));
        assert_eq!(EventId(id.into_bytes()).made_ms(), Some(1_700_000_000_123));
        assert_eq!(EventId::derived("x").made_ms(), None);
    }

    #[test]
    fn two_makers_at_the_same_moment_make_different_ids() {
        let (one, other) = (IdMaker::new(), IdMaker::new());
        assert_ne!(one.make(5), other.make(5));
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
