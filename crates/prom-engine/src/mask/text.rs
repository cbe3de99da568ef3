//! Hiding parts of JSON text without parsing it into values: what is shown is copied byte by byte.

use std::borrow::Cow;

use super::pointers::Hidden;

/// What stands where something is hidden.
pub(super) const MASKED: &[u8] = b"\"[masked]\"";

/// The text without what is hidden; `None` if nothing of it is. Text that is not as it should be is hidden whole.
pub(super) fn hide(hidden: &Hidden, text: &[u8]) -> Option<Vec<u8>> {
    let mut hiding = Hiding { text, shown: Vec::new(), copied: 0, has_hidden: false };
    let begin = after_space(text, 0);
    match hiding.value(begin, &[hidden]) {
        Some(_) if !hiding.has_hidden => None,
        Some(_) => {
            hiding.shown.extend_from_slice(&text[hiding.copied..]);
            Some(hiding.shown)
        }
        None => Some(MASKED.to_vec()),
    }
}

struct Hiding<'t> {
    text: &'t [u8],
    shown: Vec<u8>,
    /// Everything before it is in `shown`, or hidden.
    copied: usize,
    has_hidden: bool,
}

impl Hiding<'_> {
    /// A value that begins here; returns its end. Payloads have a limited depth, so this does too.
    fn value(&mut self, at: usize, hidden: &[&Hidden]) -> Option<usize> {
        if hidden.iter().any(|hidden| hidden.whole) {
            let end = end_of_value(self.text, at)?;
            self.shown.extend_from_slice(&self.text[self.copied..at]);
            self.shown.extend_from_slice(MASKED);
            self.copied = end;
            self.has_hidden = true;
            return Some(end);
        }
        if hidden.is_empty() {
            return end_of_value(self.text, at);
        }
        match self.text.get(at)? {
            b'{' => self.members(at + 1, hidden),
            b'[' => self.elements(at + 1, hidden),
            _ => end_of_value(self.text, at),
        }
    }

    fn members(&mut self, mut at: usize, hidden: &[&Hidden]) -> Option<usize> {
        loop {
            at = after_space(self.text, at);
            match self.text.get(at)? {
                b'}' => return Some(at + 1),
                b',' => at += 1,
                b'"' => {
                    let end = end_of_string(self.text, at)?;
                    let name: Cow<'_, str> = match &self.text[at..end] {
                        plain if !plain.contains(&b'\\') => {
                            std::str::from_utf8(&plain[1..plain.len() - 1]).ok()?.into()
                        }
                        escaped => serde_json::from_slice::<String>(escaped).ok()?.into(),
                    };
                    let below = below(hidden, &name);
                    at = after_space(self.text, end);
                    if self.text.get(at)? != &b':' {
                        return None;
                    }
                    let value = after_space(self.text, at + 1);
                    at = self.value(value, &below)?;
                }
                _ => return None,
            }
        }
    }

    fn elements(&mut self, mut at: usize, hidden: &[&Hidden]) -> Option<usize> {
        let mut number = 0_usize;
        loop {
            at = after_space(self.text, at);
            match self.text.get(at)? {
                b']' => return Some(at + 1),
                b',' => {
                    at += 1;
                    number += 1;
                }
                _ => {
                    let name = number.to_string();
                    let below = below(hidden, &name);
                    at = self.value(at, &below)?;
                }
            }
        }
    }
}

/// What is hidden in a member or an element of a value in which all this is.
fn below<'h>(hidden: &[&'h Hidden], name: &str) -> Vec<&'h Hidden> {
    let mut below = Vec::new();
    hidden.iter().for_each(|hidden| hidden.below(name, &mut below));
    below
}

fn after_space(text: &[u8], at: usize) -> usize {
    let space = |byte: &&u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
    at + text.get(at..).map_or(0, |rest| rest.iter().take_while(space).count())
}

/// Behind the quote that ends the string at `at`.
fn end_of_string(text: &[u8], at: usize) -> Option<usize> {
    let mut next = at + 1;
    loop {
        let found = next + memchr::memchr2(b'"', b'\\', text.get(next..)?)?;
        match text[found] {
            b'"' => return Some(found + 1),
            _ => next = found + 2,
        }
    }
}

/// Behind the value that begins at `at`.
pub(super) fn end_of_value(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' => end_of_string(text, at),
        b'{' | b'[' => {
            let (mut depth, mut next) = (0_usize, at);
            loop {
                match text.get(next)? {
                    b'"' => {
                        next = end_of_string(text, next)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                next += 1;
                if depth == 0 {
                    return Some(next);
                }
            }
        }
        _ => {
            let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
            let length = text[at..].iter().position(ends).unwrap_or(text.len() - at);
            (length > 0).then_some(at + length)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(pointers: &[&str], text: &str) -> String {
        let mut hidden = Hidden::default();
        let pointers: Vec<String> = pointers.iter().map(|&pointer| pointer.to_owned()).collect();
        hidden.add(&[], &pointers).unwrap();
        let shown = hide(&hidden, text.as_bytes());
        shown.map_or_else(|| text.to_owned(), |shown| String::from_utf8(shown).unwrap())
    }

    #[test]
    fn what_a_pointer_names_is_hidden_and_the_rest_leaves_byte_by_byte() {
        for (pointers, text, expected) in [
            (&["/a"][..], r#"{"a":1,"b":2.50}"#, r#"{"a":"[masked]","b":2.50}"#),
            (
                &["/a/b"],
                r#"{ "a" : { "b" : [1, {"c": "}"}] , "d":1e999 } }"#,
                r#"{ "a" : { "b" : "[masked]" , "d":1e999 } }"#,
            ),
            (&["/b"], r#"{"a":1}"#, r#"{"a":1}"#),
            (&["/a"], r#"{"a":1,"a":"x"}"#, r#"{"a":"[masked]","a":"[masked]"}"#),
            (&["/a"], r#"{"\u0061":1}"#, r#"{"\u0061":"[masked]"}"#),
            (&["/a~1b/~0"], r#"{"a/b":{"~":1}}"#, r#"{"a/b":{"~":"[masked]"}}"#),
            (&["/l/1"], r#"{"l":[1,2,3]}"#, r#"{"l":[1,"[masked]",3]}"#),
            (
                &["/l/*/p"],
                r#"{"l":[{"p":1},{"q":2},{"p":[]}]}"#,
                r#"{"l":[{"p":"[masked]"},{"q":2},{"p":"[masked]"}]}"#,
            ),
            (&["/*"], r#"{"a":1,"b":{}}"#, r#"{"a":"[masked]","b":"[masked]"}"#),
            (&[""], r#"{"a":1}"#, r#""[masked]""#),
            (&["/a"], "7", "7"),
            (&["/a"], r#"["a",1]"#, r#"["a",1]"#),
            (&["/"], r#"{"":1}"#, r#"{"":"[masked]"}"#),
            (&["/a"], r#"{"b":"\\\"a\":","a":"\\"}"#, r#"{"b":"\\\"a\":","a":"[masked]"}"#),
        ] {
            assert_eq!(shown(pointers, text), expected, "{pointers:?} in {text}");
        }
    }

    #[test]
    fn what_is_no_json_is_hidden_whole() {
        for text in ["{\"a\" 1}", "{\"a\":", "{\"a\":1", "{a:1}", ""] {
            assert_eq!(shown(&["/a"], text), "\"[masked]\"", "{text}");
        }
    }
}
