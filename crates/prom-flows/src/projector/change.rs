//! What an event does to the document of its key, and which of two events is newer.
//!
//! Without a `version` program an event is newer if it was stored later: by `stored_ts`, and within a partition by offset. That
//! holds across partitions and for a topic that was deleted and made again. With one, the larger number is newer.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use prom_types::EpochMs;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// What is kept of a document besides what its map makes.
pub(crate) const KEY: &str = "_key";
pub(crate) const VERSION: &str = "_v";
pub(crate) const TIME: &str = "_ts";

/// What an event means for a collection with one document for each key.
#[derive(Debug, Clone)]
pub enum KeyProjection {
    /// It has no key, so it has no document. It is counted.
    WithoutKey,
    /// The map made nothing of it.
    LeftOut,
    /// The document is this from now on.
    Put {
        /// Whose document it is.
        key: String,
        /// For [`VersionRule::Given`].
        version: Option<VersionNumber>,
        /// An object.
        body: Box<RawValue>,
    },
    /// There is no document any more.
    Delete {
        /// Whose document it was.
        key: String,
        /// For [`VersionRule::Given`].
        version: Option<VersionNumber>,
    },
}

/// A number that says which of two documents is newer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum VersionNumber {
    /// Compared exactly.
    Int(i64),
    /// Anything else that JSON can say.
    Float(f64),
}

/// The version of a document, as it is stored with it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DocumentVersion {
    pub v: VersionNumber,
    pub ts: EpochMs,
}

/// Which of two events of a key is newer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VersionRule {
    /// The one that was stored later: by time, then by offset.
    #[default]
    ByPlace,
    /// The one to which the projection gives the larger number.
    Given,
}

/// The newest change of one key in a batch.
#[derive(Debug, Clone)]
pub(crate) struct NewestChange {
    pub key: String,
    pub version: DocumentVersion,
    /// `None` deletes.
    pub body: Option<Box<RawValue>>,
}

impl VersionNumber {
    fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Int(one), Self::Int(other)) => one.cmp(&other),
            (one, other) => one.as_f64().total_cmp(&other.as_f64()),
        }
    }

    fn as_f64(self) -> f64 {
        match self {
            Self::Int(number) => number as f64,
            Self::Float(number) => number,
        }
    }

    /// Reads a JSON number.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let number: serde_json::Number = serde_json::from_slice(text).ok()?;
        number.as_i64().map(Self::Int).or_else(|| number.as_f64().map(Self::Float))
    }
}

impl fmt::Display for VersionNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            // As JSON: never `inf`, which no JSON number is.
            Self::Float(number) => write!(f, "{number:?}"),
        }
    }
}

impl DocumentVersion {
    pub fn is_newer(self, than: Self, rule: VersionRule) -> bool {
        let by_number = self.v.compare(than.v);
        let order = match rule {
            VersionRule::ByPlace => self.ts.cmp(&than.ts).then(by_number),
            VersionRule::Given => by_number,
        };
        order == Ordering::Greater
    }

    /// As a stored document has it.
    pub fn in_document(text: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Stored<'a> {
            #[serde(rename = "_v", borrow)]
            v: &'a RawValue,
            #[serde(rename = "_ts")]
            ts: EpochMs,
        }
        let stored: Stored<'_> = serde_json::from_slice(text).ok()?;
        Some(Self { v: VersionNumber::parse(stored.v.get().as_bytes())?, ts: stored.ts })
    }
}

impl NewestChange {
    /// The whole document as JSON text; of a deletion only what is remembered of it.
    pub fn document(&self) -> Result<Vec<u8>, String> {
        let key = serde_json::Value::from(self.key.as_str());
        let DocumentVersion { v, ts } = self.version;
        let mut text = format!("{{\"{KEY}\":{key},\"{VERSION}\":{v},\"{TIME}\":{ts}").into_bytes();
        if let Some(body) = &self.body {
            for (name, value) in members(body)?.0 {
                if [KEY, VERSION, TIME].contains(&&*name) {
                    continue;
                }
                text.push(b',');
                text.extend_from_slice(serde_json::Value::from(&*name).to_string().as_bytes());
                text.push(b':');
                text.extend_from_slice(value.get().as_bytes());
            }
        }
        text.push(b'}');
        Ok(text)
    }
}

/// The members of an object, in their order.
pub(crate) struct ObjectMembers<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

pub(crate) fn members(body: &RawValue) -> Result<ObjectMembers<'_>, String> {
    let unfit = |_| "a document is an object; give the projector a `map` that makes one".to_owned();
    serde_json::from_str(body.get()).map_err(unfit)
}

impl<'de: 'a, 'a> Deserialize<'de> for ObjectMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = ObjectMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
                while let Some(BorrowedName(name)) = map.next_key()? {
                    let value = map.next_value()?;
                    // Of a member that is there twice the last one counts, as for every reader of JSON.
                    match members.iter_mut().find(|(known, _)| *known == name) {
                        Some(known) => known.1 = value,
                        None => members.push((name, value)),
                    }
                }
                Ok(ObjectMembers(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[derive(Deserialize)]
struct BorrowedName<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn version(v: i64, ts: EpochMs) -> DocumentVersion {
        DocumentVersion { v: VersionNumber::Int(v), ts }
    }

    #[test]
    fn the_later_event_is_newer_also_where_offsets_began_anew() {
        assert!(version(1, 20).is_newer(version(900, 10), VersionRule::ByPlace));
        assert!(version(2, 10).is_newer(version(1, 10), VersionRule::ByPlace));
        assert!(!version(1, 10).is_newer(version(1, 10), VersionRule::ByPlace), "the same event is not newer");
        assert!(version(5, 1).is_newer(version(4, 99), VersionRule::Given));
        let float = DocumentVersion { v: VersionNumber::Float(4.5), ts: 0 };
        assert!(float.is_newer(version(4, 99), VersionRule::Given));
    }

    #[test]
    fn a_document_keeps_its_digits_and_its_order_and_not_our_names() {
        let body = RawValue::from_string(r#"{"z":1.10,"_v":7,"a":123456789012345678901,"n":{"_v":1}}"#.into()).unwrap();
        let change = NewestChange { key: "k\"".into(), version: version(3, 4), body: Some(body) };
        let text = change.document().unwrap();
        let expected = r#"{"_key":"k\"","_v":3,"_ts":4,"z":1.10,"a":123456789012345678901,"n":{"_v":1}}"#;
        assert_eq!(String::from_utf8(text.clone()).unwrap(), expected);
        assert_eq!(DocumentVersion::in_document(&text), Some(version(3, 4)));
    }

    #[test]
    fn what_is_no_object_is_no_document() {
        for bad in ["1", "[1]", "\"a\"", "true"] {
            let body = Some(RawValue::from_string(bad.into()).unwrap());
            let change = NewestChange { key: "k".into(), version: version(1, 1), body };
            assert!(change.document().unwrap_err().contains("map"), "{bad}");
        }
    }
}
