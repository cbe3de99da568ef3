//! The fingerprint of an error: what stays the same when the same thing goes wrong with another event.
//!
//! ```text
//!   order 4711 of "Smith" not found at 10.0.0.7:443   ─▶   order # of "…" not found at #   ─▶   9f0c…
//! ```
//!
//! Taken out are quoted parts, UUIDs, numbers with their separators, hexadecimal and mixed ids. What is left is the pattern,
//! which people read; the fingerprint is its hash. Both are bounded, whatever the error's length.

use prom_types::EventId;

use crate::limits::{ERROR_READ_BYTES, PATTERN_BYTES};

/// The digits of a UUID's parts.
const UUID_PARTS: [usize; 5] = [8, 4, 4, 4, 12];
/// Hexadecimal text of at least this many digits is an id; shorter ones may be words.
const HEX_DIGITS: usize = 8;
/// Letters mixed with digits are an id from this length on.
const MIXED_ID: usize = 6;

/// The pattern of an error and its fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPattern {
    /// The error without what differs from event to event.
    pub pattern: String,
    /// The hash of the pattern.
    pub fingerprint: String,
}

impl ErrorPattern {
    /// Of an error's text.
    pub fn of(err: &str) -> Self {
        let pattern = pattern(cut(err, ERROR_READ_BYTES));
        let hash = EventId::derived(&format!("error pattern:{pattern}"));
        let fingerprint = hash.as_bytes()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        Self { pattern, fingerprint }
    }
}

fn pattern(err: &str) -> String {
    let mut out = String::with_capacity(err.len().min(PATTERN_BYTES) + 8);
    let mut rest = err;
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        if out.len() >= PATTERN_BYTES {
            break;
        }
        let taken = if let Some(length) = quoted(rest, first, before) {
            out.push_str("\"…\"");
            length
        } else if first.is_alphanumeric() {
            word(&mut out, rest)
        } else {
            let plain = if first.is_whitespace() || first.is_control() { ' ' } else { first };
            if plain != ' ' || !out.ends_with(' ') {
                out.push(plain);
            }
            first.len_utf8()
        };
        let (done, left) = rest.split_at(taken);
        before = done.chars().next_back().unwrap_or(' ');
        rest = left;
    }
    without_separators(out.trim())
}

/// The length of a quoted part that begins here. An apostrophe within a word begins none.
fn quoted(rest: &str, quote: char, before: char) -> Option<usize> {
    if !matches!(quote, '"' | '\'' | '`') || before.is_alphanumeric() {
        return None;
    }
    let inside = &rest[1..];
    let mut is_escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            '\\' => is_escaped = !is_escaped,
            _ if c == quote && !is_escaped => {
                let after = inside[at + 1..].chars().next();
                if quote != '\'' || !after.is_some_and(char::is_alphanumeric) {
                    return Some(at + 2);
                }
            }
            _ => is_escaped = false,
        }
    }
    None
}

/// Appends what is left of the word that begins here, and says how long it is.
fn word(out: &mut String, rest: &str) -> usize {
    if let Some(length) = uuid(rest) {
        out.push('#');
        return length;
    }
    let length = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
    let word = &rest[..length];
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let hex = word.strip_prefix("0x").unwrap_or(word);
    let is_hex = hex.len() < word.len() || (hex.len() >= HEX_DIGITS && digits > 0);
    let is_id = (is_hex && hex.bytes().all(|byte| byte.is_ascii_hexdigit())) || (digits > 1 && word.len() >= MIXED_ID);
    if is_id {
        out.push('#');
        return length;
    }
    for c in word.chars() {
        match c {
            _ if !c.is_ascii_digit() => out.push(c),
            _ if out.ends_with('#') => {}
            _ => out.push('#'),
        }
    }
    length
}

fn uuid(rest: &str) -> Option<usize> {
    let mut at = 0;
    for (part, digits) in UUID_PARTS.into_iter().enumerate() {
        if part > 0 {
            at += usize::from(rest.as_bytes().get(at) == Some(&b'-'));
        }
        let text = rest.as_bytes().get(at..at + digits)?;
        if !text.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        at += digits;
    }
    let is_whole = at == 36 && !rest[at..].starts_with(|c: char| c.is_alphanumeric());
    is_whole.then_some(at)
}

/// `#.#`, `#:#` and the like are one number, address or time.
fn without_separators(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let joins = matches!(c, '.' | ':' | ',' | '-' | '/') && out.ends_with('#') && rest.peek() == Some(&'#');
        if joins {
            rest.next();
        } else {
            out.push(c);
        }
    }
    cut(&out, PATTERN_BYTES).to_owned()
}

/// At most so many bytes, at a boundary of characters.
fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_event_to_event_is_taken_out() {
        for (err, pattern) in [
            ("order 4711 not found", "order # not found"),
            ("order -1.5e3 not found", "order -#e# not found"),
            ("timeout after 30.5s at 10.0.0.7:443", "timeout after #s at #"),
            ("at 2024-01-02T03:04:05Z", "at #T#Z"),
            ("no user \"Smith \\\"J\\\"\" in 'accounts'", "no user \"…\" in \"…\""),
            ("can't open, it's gone", "can't open, it's gone"),
            ("event 0190b6ef-8f5c-7cc3-98c4-dc0c0c07398f failed", "event # failed"),
            ("at 0x7ffe12 in deadbeef01", "at # in #"),
            ("key A7F3K9Q is taken", "key # is taken"),
            ("not valid utf8\n\tat line 3", "not valid utf# at line #"),
            ("an unclosed 'quote", "an unclosed 'quote"),
            ("", ""),
        ] {
            assert_eq!(ErrorPattern::of(err).pattern, pattern, "{err}");
        }
    }

    #[test]
    fn the_same_error_of_two_events_has_one_fingerprint_and_another_error_has_another() {
        let of = |err: &str| ErrorPattern::of(err).fingerprint;
        assert_eq!(of("order 1 not found"), of("order 22 not found"));
        assert_ne!(of("order 1 not found"), of("order 1 not paid"));
        assert_eq!(of("x").len(), 16);
    }

    #[test]
    fn a_long_error_has_a_short_pattern() {
        let long = "ä".repeat(1_000_000);
        assert!(ErrorPattern::of(&long).pattern.len() <= PATTERN_BYTES);
        let quotes = "'".repeat(100_000);
        assert!(ErrorPattern::of(&quotes).pattern.len() <= PATTERN_BYTES);
    }
}
