//! Headers: `x-…` names of the application's own, `content-type`, `traceparent`, `tracestate`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Invalid, excerpt};
use crate::limits;

/// Checked headers, ordered by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(description = "Names are `x-…`, `content-type`, `traceparent` and `tracestate`.")
)]
pub struct Headers(BTreeMap<String, String>);

impl Headers {
    /// Adds or replaces one. `content-type` may be written in any case and is kept in lower case.
    pub fn insert(&mut self, name: &str, value: impl Into<String>) -> Result<(), Invalid> {
        let value = value.into();
        let name = canonical(name)?;
        if value.len() > limits::HEADER_VALUE_BYTES {
            return Err(Invalid::TooLarge {
                what: "header value",
                size: value.len(),
                limit: limits::HEADER_VALUE_BYTES,
            });
        }
        if value.chars().any(|c| c.is_control() && c != '\t') {
            return Err(Invalid::Header { name, reason: "its value has a control character" });
        }
        if self.0.len() >= limits::HEADERS && !self.0.contains_key(&name) {
            return Err(Invalid::TooLarge {
                what: "number of headers",
                size: self.0.len() + 1,
                limit: limits::HEADERS,
            });
        }
        self.0.insert(name, value);
        Ok(())
    }

    /// The value of a header.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Names and values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn canonical(name: &str) -> Result<String, Invalid> {
    let refuse = |reason| Err(Invalid::Header { name: excerpt(name), reason });
    if name.len() > limits::HEADER_NAME_BYTES {
        return refuse("its name is too long");
    }
    if name.eq_ignore_ascii_case("content-type") {
        return Ok("content-type".to_owned());
    }
    if matches!(name, "traceparent" | "tracestate") {
        return Ok(name.to_owned());
    }
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    match name.strip_prefix("x-") {
        Some(rest) if !rest.is_empty() && rest.bytes().all(allowed) => Ok(name.to_owned()),
        _ => refuse("names are x- followed by a-z, 0-9 and dashes, or content-type, traceparent, tracestate"),
    }
}

impl TryFrom<BTreeMap<String, String>> for Headers {
    type Error = Invalid;
    fn try_from(map: BTreeMap<String, String>) -> Result<Self, Invalid> {
        let mut headers = Self::default();
        for (name, value) in map {
            headers.insert(&name, value)?;
        }
        Ok(headers)
    }
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Each is checked when it is read, so that many cost no more than the limit.
        struct Checking;
        impl<'de> Visitor<'de> for Checking {
            type Value = Headers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Headers, A::Error> {
                let mut headers = Headers::default();
                while let Some((name, value)) = entries.next_entry::<String, String>()? {
                    headers.insert(&name, value).map_err(A::Error::custom)?;
                }
                Ok(headers)
            }
        }
        deserializer.deserialize_map(Checking)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rule() {
        let mut headers = Headers::default();
        for good in ["x-a", "x-schema-version", "Content-Type", "traceparent", "tracestate", "x--"] {
            assert!(headers.insert(good, "v").is_ok(), "{good:?} refused");
        }
        for bad in ["", "x-", "X-A", "x-ä", "y-a", "x-a b", "Traceparent", "authorization"] {
            assert!(headers.insert(bad, "v").is_err(), "{bad:?} passed");
        }
        assert_eq!(headers.get("content-type"), Some("v"));
    }

    #[test]
    fn values_and_numbers_are_limited() {
        let mut headers = Headers::default();
        assert!(headers.insert("x-a", "line\nbreak").is_err());
        assert!(headers.insert("x-a", "v".repeat(limits::HEADER_VALUE_BYTES + 1)).is_err());
        for n in 0..limits::HEADERS {
            headers.insert(&format!("x-{n}"), "v").unwrap();
        }
        assert!(headers.insert("x-more", "v").is_err());
        assert!(headers.insert("x-1", "other").is_ok());
    }
}
