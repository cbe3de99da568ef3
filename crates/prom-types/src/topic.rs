//! Topic names: lower-case segments joined by dots, at most 255 bytes.

use std::borrow::Borrow;
use std::sync::Arc;

use crate::error::{Invalid, excerpt};
use crate::limits;
use crate::text::checked_text;

const DEAD_LETTERS: &str = "dlq.";
const SYSTEM: &str = "system.";

/// A valid topic name. Cloning costs a reference count.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(value_type = String, example = "orders.placed", description = "Lower-case segments of letters and digits, joined by dots.")
)]
pub struct TopicName(Arc<str>);

checked_text!(TopicName);

impl TopicName {
    /// Checks the grammar and the length.
    pub fn parse(name: &str) -> Result<Self, Invalid> {
        let longest = if name.starts_with(DEAD_LETTERS) {
            limits::TOPIC_BYTES + limits::HUB_PREFIX_BYTES
        } else {
            limits::TOPIC_BYTES
        };
        if name.len() > longest {
            return Err(Invalid::TooLarge { what: "topic name", size: name.len(), limit: longest });
        }
        match fault(name) {
            Some(reason) => Err(Invalid::Topic { name: excerpt(name), reason }),
            None => Ok(Self(name.into())),
        }
    }

    /// Whether one is a clone of the other: quick, and may miss that two names are equal.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Where events go that a group of this topic gave up on. Letters have no letters of their own.
    pub fn dead_letters(&self) -> Option<Self> {
        (!self.is_dead_letters()).then(|| Self(format!("{DEAD_LETTERS}{self}").into()))
    }

    /// The topic whose dead letters it holds.
    pub fn letters_of(&self) -> Option<Self> {
        Self::parse(self.0.strip_prefix(DEAD_LETTERS)?).ok()
    }

    /// Whether it holds the dead letters of another topic.
    pub fn is_dead_letters(&self) -> bool {
        self.0.starts_with(DEAD_LETTERS)
    }

    /// True for `dlq.` and `system.` topics: the hub writes them, clients only read.
    pub fn is_reserved(&self) -> bool {
        is_reserved(&self.0)
    }
}

pub(crate) fn is_reserved(name: &str) -> bool {
    name.starts_with(DEAD_LETTERS) || name.starts_with(SYSTEM)
}

fn fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    if name.split('.').any(str::is_empty) {
        return Some("it has an empty segment");
    }
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'.';
    if name.bytes().all(allowed) { None } else { Some("it has a character outside a-z, 0-9 and the dot") }
}

impl Borrow<str> for TopicName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_grammar() {
        for good in ["a", "heartbeat.received", "orders.placed.v2", "0.1.2"] {
            assert_eq!(TopicName::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", ".", "a.", ".a", "a..b", "A", "a-b", "a b", "a/b", "ä", "a\n", "*"] {
            assert!(TopicName::parse(bad).is_err(), "{bad:?} passed");
        }
    }

    #[test]
    fn names_have_a_longest_length_and_their_dead_letters_still_fit() {
        let longest = "a".repeat(limits::TOPIC_BYTES);
        let topic = TopicName::parse(&longest).unwrap();
        let letters = topic.dead_letters().unwrap();
        assert_eq!(TopicName::parse(&letters).unwrap(), letters);
        assert!(TopicName::parse(&format!("{longest}a")).is_err());
    }

    #[test]
    fn letters_have_no_letters() {
        let letters = TopicName::parse("dlq.orders").unwrap();
        assert!(letters.is_reserved());
        assert_eq!(letters.dead_letters(), None);
        assert_eq!(letters.letters_of(), TopicName::parse("orders").ok());
        assert_eq!(TopicName::parse("dlq").unwrap().letters_of(), None);
    }
}
