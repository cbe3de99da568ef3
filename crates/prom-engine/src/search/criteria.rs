//! What an event must be like to be found. All that is asked for must hold.

use prom_transform::Program;

use crate::StoredEvent;

/// The conditions of a search. Without any, every event matches.
#[derive(Debug, Clone, Default)]
pub struct SearchCriteria {
    /// Occurs in the id, the key, the headers, the tags or the payload as they are stored. ASCII letters match in either case.
    pub text: Option<String>,
    /// A program over the whole event; its first output is neither `false` nor `null`.
    pub program: Option<Program>,
    /// The key, exactly.
    pub key: Option<String>,
    /// A header.
    pub header: Option<HeaderMatch>,
}

/// A header that an event must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderMatch {
    /// Its name.
    pub name: String,
    /// Its value, exactly; any if none is given.
    pub value: Option<String>,
}

impl HeaderMatch {
    /// Reads `name` or `name:value`.
    pub fn parse(text: &str) -> Self {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value.trim().to_owned())),
            None => (text, None),
        };
        Self { name: name.trim().to_ascii_lowercase(), value }
    }
}

impl SearchCriteria {
    /// Whether the event matches. `buffer` is reused from one event to the next.
    pub(super) fn matches(&self, event: &StoredEvent, buffer: &mut Vec<u8>) -> Result<bool, String> {
        if self.key.as_deref().is_some_and(|key| event.key() != Some(key)) {
            return Ok(false);
        }
        if self.text.as_deref().is_some_and(|text| !has_text(event, text.as_bytes())) {
            return Ok(false);
        }
        if let Some(header) = &self.header {
            let headers = event.headers();
            let found = headers.get(&header.name);
            if found.is_none() || header.value.as_deref().is_some_and(|value| found != Some(value)) {
                return Ok(false);
            }
        }
        let Some(program) = &self.program else {
            return Ok(true);
        };
        buffer.clear();
        event.write_json(buffer);
        program.test(buffer).map_err(|error| error.to_string())
    }
}

fn has_text(event: &StoredEvent, text: &[u8]) -> bool {
    let record = event.record();
    contains(record.payload().as_bytes(), text)
        || contains(record.meta(), text)
        || event.key().is_some_and(|key| contains(key.as_bytes(), text))
        || contains(event.id().to_string().as_bytes(), text)
}

/// Whether `text` occurs, in whatever case its ASCII letters are.
fn contains(within: &[u8], text: &[u8]) -> bool {
    let Some((first, rest)) = text.split_first() else {
        return true;
    };
    let Some(last) = within.len().checked_sub(text.len()) else {
        return false;
    };
    let begins = &within[..=last];
    let at = |at: usize| within[at + 1..at + text.len()].eq_ignore_ascii_case(rest);
    memchr::memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), begins).any(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_found_at_both_ends_and_in_any_case() {
        for (within, text, found) in [
            ("abc", "abc", true),
            ("xABC", "abc", true),
            ("abcx", "AbC", true),
            ("ab", "abc", false),
            ("aabab", "abab", true),
            ("grün", "GRün", true),
            ("", "a", false),
            ("anything", "", true),
        ] {
            assert_eq!(contains(within.as_bytes(), text.as_bytes()), found, "{text} in {within}");
        }
    }

    #[test]
    fn a_header_is_asked_for_by_its_name_or_with_its_value() {
        let header =
            |name: &str, value: Option<&str>| HeaderMatch { name: name.to_owned(), value: value.map(str::to_owned) };
        assert_eq!(HeaderMatch::parse("x-tenant"), header("x-tenant", None));
        assert_eq!(HeaderMatch::parse("X-Tenant: a:b"), header("x-tenant", Some("a:b")));
    }
}
