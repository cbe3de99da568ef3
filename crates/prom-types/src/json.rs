//! A piece of JSON text, checked once and then carried as bytes.

use std::fmt;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::error::Invalid;
use crate::limits;

/// Valid JSON text. Cloning costs a reference count.
#[derive(Clone, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(value_type = serde_json::Value, description = "Any JSON."))]
pub struct Json(Bytes);

impl Json {
    /// `null`.
    pub const NULL: Json = Json(Bytes::from_static(b"null"));

    /// Checks text that came from outside: syntax, depth, and that its escapes are characters.
    pub fn parse(text: impl Into<Bytes>) -> Result<Self, Invalid> {
        let text = text.into();
        let raw: &RawValue = serde_json::from_slice(&text)
            .map_err(|error| Invalid::Json { what: "payload", reason: error.to_string() })?;
        check(raw.get())?;
        Ok(Self(text.slice_ref(raw.get().as_bytes())))
    }

    /// A part of a larger text whose syntax was checked when it was found: only depth and escapes are left to check.
    pub fn part_of(text: &Bytes, part: &RawValue) -> Result<Self, Invalid> {
        check(part.get())?;
        Ok(Self(text.slice_ref(part.get().as_bytes())))
    }

    /// Takes over text that is already known to be valid JSON (it was checked, or comes from our own log).
    pub fn trusted(text: Bytes) -> Self {
        Self(text)
    }

    /// Writes a value as JSON.
    pub fn from_value(value: &impl Serialize) -> Result<Self, Invalid> {
        let text =
            serde_json::to_vec(value).map_err(|error| Invalid::Json { what: "payload", reason: error.to_string() })?;
        let json = Self(text.into());
        check(json.as_str())?;
        Ok(json)
    }

    /// Reads it as a type.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// A `null` payload deletes its key.
    pub fn is_null(&self) -> bool {
        &*self.0 == b"null"
    }

    /// The text as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("null")
    }

    /// The text as bytes, without a copy.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

/// The syntax is already known to be valid. That is not enough: half a surrogate pair is valid syntax and no text, and
/// readers refuse the whole event for it.
fn check(text: &str) -> Result<(), Invalid> {
    let (mut brackets, mut after_escape) = (0, 0);
    for at in memchr::memchr3_iter(b'{', b'[', b'\\', text.as_bytes()) {
        if at < after_escape {
            continue;
        }
        match text.as_bytes()[at] {
            b'\\' => after_escape = at + escape_length(&text[at..]).ok_or_else(|| half_a_pair(text, at))?,
            _ => brackets += 1,
        }
    }
    // Few texts have enough brackets to be too deep, strings included.
    if brackets <= limits::JSON_DEPTH {
        return Ok(());
    }
    match depth(text) {
        deepest if deepest > limits::JSON_DEPTH => {
            Err(Invalid::TooLarge { what: "nesting depth of the payload", size: deepest, limit: limits::JSON_DEPTH })
        }
        _ => Ok(()),
    }
}

/// How long the escape at the beginning of `text` is, with the second half of a pair; `None` for half a pair.
fn escape_length(text: &str) -> Option<usize> {
    /// A backslash, a `u` and four digits.
    const UNIT: usize = 6;
    let unit = |at: usize| {
        let digits = text.get(at..at + UNIT)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    match unit(0) {
        None => Some(2),
        Some(0xD800..=0xDBFF) => matches!(unit(UNIT), Some(0xDC00..=0xDFFF)).then_some(2 * UNIT),
        Some(0xDC00..=0xDFFF) => None,
        Some(_) => Some(UNIT),
    }
}

fn half_a_pair(text: &str, at: usize) -> Invalid {
    let escape = text.get(at..at + 6).unwrap_or_default();
    let reason =
        format!("{escape} at byte {at} is half of a surrogate pair; write both halves, or the character itself");
    Invalid::Json { what: "payload", reason }
}

/// Counts brackets outside strings.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0usize, 0usize, false, false);
    for byte in text.bytes() {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (true, b'"') => in_string = false,
            (true, _) => {}
            (false, b'"') => in_string = true,
            (false, b'{' | b'[') => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            (false, b'}' | b']') => depth -= 1,
            _ => {}
        }
    }
    deepest
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        Self(value.to_string().into())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_slice(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        check(raw.get()).map_err(serde::de::Error::custom)?;
        Ok(Self(Bytes::from(String::from(Box::<str>::from(raw)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_checked_and_trimmed() {
        assert_eq!(Json::parse(" {\"a\": 1}\n").unwrap().as_str(), "{\"a\": 1}");
        assert!(Json::parse(" null ").unwrap().is_null());
        for bad in ["", "{", "{\"a\":}", "nul", "1 2", "\"\u{1}\"", "NaN"] {
            assert!(Json::parse(bad.to_owned()).is_err(), "{bad:?} passed");
        }
        assert!(Json::parse(&b"\"\xff\""[..]).is_err());
    }

    #[test]
    fn half_a_surrogate_pair_is_no_text() {
        for half in
            [r"\ud800", r"\uDFFF", r"a\udbff", r"\ud83dx\ude00", r"\ud83d\n", r"\\\ud800", r"\ud83d\ud83d\ude00"]
        {
            for text in [format!("\"{half}\""), format!("{{\"{half}\":1}}"), format!("[[\"{half}{half}\"]]")] {
                let refused = Json::parse(text.clone()).unwrap_err().to_string();
                assert!(refused.contains("half of a surrogate pair"), "{text}: {refused}");
                assert!(serde_json::from_str::<Json>(&text).is_err(), "{text} passed");
            }
        }
        for whole in
            [r"\ud83d\ude00", r"\\ud800", r"\\\\udfff", r"\u0041\ud7ff\ue000", r"\n\\", r"\ud83d\ude00\ud83d\ude00"]
        {
            assert!(Json::parse(format!("\"{whole}\"")).is_ok(), "{whole} refused");
        }
    }

    #[test]
    fn depth_is_limited_and_brackets_in_strings_do_not_count() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Json::parse(nested(limits::JSON_DEPTH)).is_ok());
        assert!(Json::parse(nested(limits::JSON_DEPTH + 1)).is_err());
        assert!(Json::parse(nested(200_000)).is_err());
        assert!(Json::parse(format!("\"{}\\\"[\"", "[".repeat(500))).is_ok());
    }
}
