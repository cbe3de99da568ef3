//! Keys that are a field of the payload, such as `.payload.processId`: found without the interpreter.

use prom_types::Json;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A program that only follows fields from the payload on.
pub(super) struct FieldPath(Vec<String>);

/// What is at the end of a path.
#[derive(Debug, PartialEq)]
pub(super) enum Field {
    /// Text, a whole number, a boolean; or nothing.
    Key(Option<String>),
    /// The interpreter has its own words for it.
    Other,
}

impl FieldPath {
    pub fn parse(program: &str) -> Option<Self> {
        let mut names = program.trim().strip_prefix('.')?.split('.');
        if names.next() != Some("payload") {
            return None;
        }
        names.map(|name| is_name(name).then(|| name.to_owned())).collect::<Option<_>>().map(Self)
    }

    pub fn find(&self, payload: &Json) -> Field {
        let mut text = serde_json::Deserializer::from_slice(payload.as_bytes());
        At(&self.0).deserialize(&mut text).unwrap_or(Field::Other)
    }
}

fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.bytes().next().is_some_and(is_letter) && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

/// What is left of a path, at a value.
struct At<'a>(&'a [String]);

impl At<'_> {
    fn end(&self, key: impl FnOnce() -> String) -> Field {
        if self.0.is_empty() { Field::Key(Some(key())) } else { Field::Other }
    }
}

impl<'de> DeserializeSeed<'de> for At<'_> {
    type Value = Field;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Field, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for At<'_> {
    type Value = Field;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Field, E> {
        Ok(Field::Key(None))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Field, E> {
        Ok(self.end(|| value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Field, E> {
        Ok(self.end(|| value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Field, E> {
        Ok(self.end(|| value.to_string()))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Field, E> {
        Ok(Field::Other)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Field, E> {
        Ok(self.end(|| value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Field, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Field::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Field, A::Error> {
        let (name, rest) = self.0.split_first().map_or((None, &[][..]), |(name, rest)| (Some(name.as_str()), rest));
        let mut found = if name.is_some() { Field::Key(None) } else { Field::Other };
        while let Some(is_it) = object.next_key_seed(IsName(name))? {
            // Of two fields with one name, the last one counts.
            if is_it {
                found = object.next_value_seed(At(rest))?;
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Whether a field has this name.
struct IsName<'a>(Option<&'a str>);

impl<'de> DeserializeSeed<'de> for IsName<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, name: D) -> Result<bool, D::Error> {
        name.deserialize_str(self)
    }
}

impl Visitor<'_> for IsName<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a field's name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(self.0 == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_fields_of_the_payload_are_a_path() {
        for path in [".payload", ".payload.a", "  .payload.process_id.x1 "] {
            assert!(FieldPath::parse(path).is_some(), "{path}");
        }
        for program in
            [".", ".headers.a", ".payload.", ".payload.1", ".payload.a?", ".payload.a + 1", ".payload[0]", "1"]
        {
            assert!(FieldPath::parse(program).is_none(), "{program}");
        }
    }
}
