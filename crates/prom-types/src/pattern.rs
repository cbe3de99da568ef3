//! Topic patterns: `*` is exactly one segment, `**` zero or more, anywhere.

use std::sync::Arc;

use crate::error::{Invalid, excerpt};
use crate::text::checked_text;
use crate::topic::is_reserved;
use crate::{TopicName, limits};

/// A topic name or a pattern over topic names.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = String, example = "orders.*"))]
pub struct TopicPattern(Arc<str>);

checked_text!(TopicPattern);

impl TopicPattern {
    /// Reads a pattern: names, `*` and `**` joined by dots.
    pub fn parse(pattern: &str) -> Result<Self, Invalid> {
        if pattern.len() > limits::TOPIC_BYTES + limits::HUB_PREFIX_BYTES {
            return Err(Invalid::TooLarge {
                what: "topic pattern",
                size: pattern.len(),
                limit: limits::TOPIC_BYTES + limits::HUB_PREFIX_BYTES,
            });
        }
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let valid = |segment: &str| match segment {
            "*" | "**" => true,
            name => !name.is_empty() && name.bytes().all(plain),
        };
        if pattern.split('.').all(valid) {
            Ok(Self(pattern.into()))
        } else {
            Err(Invalid::Pattern {
                pattern: excerpt(pattern),
                reason: "it has an empty segment or one with other characters than a-z and 0-9",
            })
        }
    }

    /// The one topic this names, if it has no wildcard.
    pub fn as_topic(&self) -> Option<TopicName> {
        if self.0.contains('*') { None } else { TopicName::parse(&self.0).ok() }
    }

    /// A pattern that begins with a wildcard does not reach into `dlq.` and `system.`.
    pub fn matches(&self, topic: &str) -> bool {
        if self.0.starts_with('*') && is_reserved(topic) {
            return false;
        }
        matches_segments(&self.0, topic)
    }
}

/// Walks both by segments. On a mismatch the most recent `**` takes one more segment; an earlier
/// `**` never needs to, because whatever it could absorb the later one can absorb as well.
fn matches_segments(pattern: &str, topic: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('.').collect();
    let topic: Vec<&str> = topic.split('.').collect();
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < topic.len() {
        match pattern.get(p) {
            Some(&"**") => {
                p += 1;
                retry = Some((p, t));
            }
            Some(&segment) if segment == "*" || segment == topic[t] => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((after, taken)) => {
                    p = after;
                    t = taken + 1;
                    retry = Some((after, taken + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&segment| segment == "**")
}

impl From<TopicName> for TopicPattern {
    fn from(topic: TopicName) -> Self {
        Self(topic.as_str().into())
    }
}
