//! Where a JSON pointer leads in a text, so that a finding about a schema has a line.

use crate::record::Span;

/// The value at a pointer, or the nearest one above it that is there.
pub fn place_of_pointer(text: &str, pointer: &str) -> Span {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
    let parts = pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"));
    let whole = scanner.clone().value();
    let mut best = whole.unwrap_or_default();
    'parts: for part in parts {
        let Some(start) = scanner.enter() else { break };
        let mut index = 0;
        loop {
            let key = match start {
                b'{' => match scanner.key() {
                    Some(key) => key,
                    None => break 'parts,
                },
                _ => index.to_string(),
            };
            scanner.space();
            if key == part {
                best = scanner.clone().value().unwrap_or(best);
                continue 'parts;
            }
            if scanner.value().is_none() || !scanner.comma() {
                break 'parts;
            }
            index += 1;
        }
    }
    // One line of it is enough.
    let end = text[best.start as usize..best.end as usize].find('\n').map_or(best.end, |at| best.start + at as u32);
    Span::new(best.start, end)
}

#[derive(Clone)]
struct Scanner<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Scanner<'_> {
    fn space(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// Goes into an object or an array.
    fn enter(&mut self) -> Option<u8> {
        self.space();
        let open = *self.bytes.get(self.at).filter(|byte| matches!(byte, b'{' | b'['))?;
        self.at += 1;
        Some(open)
    }

    fn key(&mut self) -> Option<String> {
        self.space();
        let start = self.at;
        self.text()?;
        let key = serde_json::from_slice(&self.bytes[start..self.at]).ok()?;
        self.space();
        self.at += usize::from(self.bytes.get(self.at) == Some(&b':'));
        Some(key)
    }

    fn comma(&mut self) -> bool {
        self.space();
        let is_there = self.bytes.get(self.at) == Some(&b',');
        self.at += usize::from(is_there);
        is_there
    }

    fn text(&mut self) -> Option<()> {
        if self.bytes.get(self.at) != Some(&b'"') {
            return None;
        }
        self.at += 1;
        loop {
            match self.bytes.get(self.at)? {
                b'\\' => self.at += 2,
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                _ => self.at += 1,
            }
        }
    }

    /// Passes one value and says where it was. Brackets are counted, not nested calls.
    fn value(&mut self) -> Option<Span> {
        self.space();
        let start = self.at;
        let mut depth = 0usize;
        loop {
            match self.bytes.get(self.at).copied() {
                Some(b'"') => self.text()?,
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(b'}' | b']') if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                Some(b',' | b'}' | b']') | None if depth == 0 => break,
                None => return None,
                Some(_) => {
                    self.at += 1;
                    continue;
                }
            }
            if depth == 0 {
                break;
            }
        }
        (self.at > start).then(|| Span::new(start as u32, self.at as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_leads_to_its_value_or_to_what_is_above_it() {
        let text = r#"{"a": {"b/c": [1, {"d": "}"}, 3]}, "e": true}"#;
        let at = |pointer: &str| {
            let span = place_of_pointer(text, pointer);
            &text[span.start as usize..span.end as usize]
        };
        assert_eq!(at("/e"), "true");
        assert_eq!(at("/a/b~1c/1/d"), "\"}\"");
        assert_eq!(at("/a/b~1c/2"), "3");
        assert_eq!(at("/a/x"), r#"{"b/c": [1, {"d": "}"}, 3]}"#);
        assert_eq!(at(""), text);
        for broken in ["", "{", "{\"a\":", "{\"a\":[1", "\"", "{\"a\\"] {
            place_of_pointer(broken, "/a/0/b");
        }
    }
}
