//! Writing JSON by hand: frames are put together from parts that are JSON already.

use prom_types::Expectation;

use super::Corr;

/// An object being written, member by member.
pub struct Object<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Object<'a> {
    /// Every frame begins with its name, and its correlation if it has one.
    pub fn frame(out: &'a mut Vec<u8>, op: &str, corr: Option<&Corr>) -> Self {
        out.extend_from_slice(b"{\"op\":\"");
        out.extend_from_slice(op.as_bytes());
        out.push(b'"');
        let mut object = Self { out };
        if let Some(corr) = corr {
            object.raw("corr", corr.as_json());
        }
        object
    }

    pub fn text(&mut self, name: &str, value: &str) -> &mut Self {
        self.name(name);
        text(self.out, value);
        self
    }

    pub fn number(&mut self, name: &str, value: impl itoa::Integer) -> &mut Self {
        self.name(name);
        number(self.out, value);
        self
    }

    /// A value that is JSON text already.
    pub fn raw(&mut self, name: &str, value: &[u8]) -> &mut Self {
        self.name(name);
        self.out.extend_from_slice(value);
        self
    }

    /// A member's name; its value is appended by the caller.
    pub fn name(&mut self, name: &str) -> &mut Vec<u8> {
        self.out.extend_from_slice(b",\"");
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    pub fn end(self) {
        self.out.push(b'}');
    }
}
/// `{"offset":N}` or `{"key_offset":N|null}`.
pub fn expectation(out: &mut Vec<u8>, expected: Expectation) {
    let (name, offset): (&[u8], _) = match expected {
        Expectation::Offset(offset) => (b"{\"offset\":", Some(offset)),
        Expectation::KeyOffset(offset) => (b"{\"key_offset\":", offset),
    };
    out.extend_from_slice(name);
    match offset {
        Some(offset) => number(out, offset),
        None => out.extend_from_slice(b"null"),
    }
    out.push(b'}');
}

pub fn number(out: &mut Vec<u8>, value: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

pub fn text(out: &mut Vec<u8>, value: &str) {
    let plain = value.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
    if plain {
        out.push(b'"');
        out.extend_from_slice(value.as_bytes());
        out.push(b'"');
    } else {
        let escaped = serde_json::Value::from(value).to_string();
        out.extend_from_slice(escaped.as_bytes());
    }
}
