//! Declared fields of a collection: where they are in a document, and how their values are compared.
//!
//! A value is compared by its text: text as it is, a number digit by digit as it is written, `true`, `false`, `null`. Lists and
//! objects have no such text, and no list is found by them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_128;

use crate::JobError;

/// Names on the way from the document to the field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DocumentField(Vec<String>);

/// A field that has to have a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldFilter {
    /// The declared name.
    pub field: String,
    /// The text of the value.
    pub value: String,
}

/// Between the parts of an entry's key. No field's name has it or sorts before it, and values with such characters are hashed.
pub(super) const BETWEEN: char = '\u{1}';
/// Longer values are hashed.
const VALUE_BYTES: usize = 256;
/// Parameters of a list that are no fields.
const RESERVED: [&str; 3] = ["offset", "limit", "after"];

impl DocumentField {
    /// A name such as `status` or `address.city`, below the members of a document.
    pub fn below(base: &[&str], name: &str) -> Result<Self, JobError> {
        let refuse = |reason: &str| Err(JobError::Field { name: name.to_owned(), reason: reason.to_owned() });
        if RESERVED.contains(&name) {
            return refuse("that is a parameter of every list");
        }
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let is_name = |part: &str| !part.is_empty() && part.bytes().all(is_letter);
        if name.len() > VALUE_BYTES || !name.split('.').all(is_name) {
            return refuse("use the name of a member of the payload, such as status, or address.city for a nested one");
        }
        Ok(Self(base.iter().copied().chain(name.split('.')).map(str::to_owned).collect()))
    }

    /// Names on the way, outermost first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// The text by which the field of a document is compared.
    pub(super) fn value_in(&self, document: &[u8]) -> Option<String> {
        let mut at: &RawValue = serde_json::from_slice(document).ok()?;
        for name in &self.0 {
            let members: BTreeMap<std::borrow::Cow<'_, str>, &RawValue> = serde_json::from_str(at.get()).ok()?;
            at = members.get(name.as_str())?;
        }
        match at.get().as_bytes().first()? {
            b'"' => serde_json::from_str(at.get()).ok(),
            b'{' | b'[' => None,
            _ => Some(at.get().to_owned()),
        }
    }
}

/// What the entries of a field with a value begin with.
pub(super) fn prefix(field: &str, value: &str) -> String {
    if value.len() > VALUE_BYTES || value.contains(|c| c <= BETWEEN) {
        return format!("{field}{BETWEEN}#{:032x}{BETWEEN}", xxh3_128(value.as_bytes()));
    }
    format!("{field}{BETWEEN}={value}{BETWEEN}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_its_text_digit_by_digit() {
        let document =
            br#"{"payload":{"a":{"b":"x"},"n":123456789012345678901234567890.10,"t":true,"z":null,"l":[1]}}"#;
        let value = |name: &str| DocumentField::below(&["payload"], name).unwrap().value_in(document);
        assert_eq!(value("a.b").as_deref(), Some("x"));
        assert_eq!(value("n").as_deref(), Some("123456789012345678901234567890.10"));
        assert_eq!(value("t").as_deref(), Some("true"));
        assert_eq!(value("z").as_deref(), Some("null"));
        assert_eq!((value("l"), value("a"), value("x"), value("a.b.c")), (None, None, None, None));
    }

    #[test]
    fn what_cannot_be_asked_for_cannot_be_declared() {
        for bad in ["", "limit", "offset", "after", "a..b", "a b", ".a", "a\u{1}b"] {
            assert!(DocumentField::below(&["payload"], bad).is_err(), "{bad:?} passed");
        }
    }

    #[test]
    fn no_value_reads_like_the_entries_of_another() {
        let all = ["a", "a\u{1}b", "", "#0", &"x".repeat(300)].map(|value| prefix("f", value));
        for (at, one) in all.iter().enumerate() {
            assert!(
                all.iter().enumerate().all(|(other, two)| at == other || !two.starts_with(one.as_str())),
                "{one:?}"
            );
        }
    }
}
