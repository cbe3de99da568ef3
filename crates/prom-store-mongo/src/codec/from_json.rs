//! JSON text to BSON in one pass.
//!
//! Promise: [`Fit::Same`] is returned only if `to_json` reproduces the same bytes. So the pass looks for everything
//! that has more than one spelling (spaces, escapes, numbers) and for duplicate names in an object, because the
//! server's own tools keep only one of them.

use hashbrown::HashSet;
use smallvec::SmallVec;

use super::element::{self, ARRAY, BOOLEAN, DOCUMENT, DOUBLE, INT32, INT64, NULL, STRING};
use crate::limits::EVENT_DEPTH;

/// How well the text fits into BSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// The BSON reproduces the same text.
    Same,
    /// The same value, spelled differently.
    Differs,
}

/// BSON cannot hold the text: a name with a zero byte, half a surrogate pair, too deep, or not JSON at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unfit;

/// Appends one element with the value of `text`. On `Unfit` the buffer is unchanged.
pub fn append_value(out: &mut Vec<u8>, name: &str, text: &[u8]) -> Result<Fit, Unfit> {
    let begin = out.len();
    let mut pass = Pass { text, at: 0, out, fit: Fit::Same };
    let done = pass.named_value(name, 0).and_then(|()| pass.end());
    settle(out, begin, done)
}

/// Appends the members of `"name":value,"name":value,` one by one. On `Unfit` the buffer is unchanged.
pub fn append_members(out: &mut Vec<u8>, text: &[u8]) -> Result<Fit, Unfit> {
    let begin = out.len();
    let mut pass = Pass { text, at: 0, out, fit: Fit::Same };
    let done = pass.members();
    settle(out, begin, done)
}

fn settle(out: &mut Vec<u8>, begin: usize, done: Result<Fit, Unfit>) -> Result<Fit, Unfit> {
    if done.is_err() {
        out.truncate(begin);
    }
    done
}

/// The positions of one object's names in the output.
#[derive(Default)]
struct Names {
    few: SmallVec<[(usize, usize); 16]>,
    many: HashSet<Box<[u8]>>,
}

impl Names {
    /// Whether the name at `at` occurred before; remembers it.
    fn is_repeated(&mut self, out: &[u8], at: usize) -> bool {
        let length = memchr::memchr(0, &out[at..]).unwrap_or(0);
        let name = &out[at..at + length];
        if self.few.len() < self.few.inline_size() {
            let repeated = self.few.iter().any(|&(from, to)| to - from == length && out[from..to] == *name);
            self.few.push((at, at + length));
            return repeated;
        }
        if self.many.is_empty() {
            self.many.extend(self.few.iter().map(|&(from, to)| Box::from(&out[from..to])));
        }
        !self.many.insert(Box::from(name))
    }
}

struct Pass<'a> {
    text: &'a [u8],
    at: usize,
    out: &'a mut Vec<u8>,
    fit: Fit,
}

impl Pass<'_> {
    fn members(&mut self) -> Result<Fit, Unfit> {
        while self.at < self.text.len() {
            self.member(1)?;
            self.byte(b',')?;
        }
        Ok(self.fit)
    }

    fn end(&mut self) -> Result<Fit, Unfit> {
        if self.at == self.text.len() { Ok(self.fit) } else { Err(Unfit) }
    }

    /// An element whose name is known.
    fn named_value(&mut self, name: &str, depth: usize) -> Result<(), Unfit> {
        let tag = self.out.len();
        element::begin(self.out, NULL, name);
        self.value(tag, depth)
    }

    /// `"name":value`.
    fn member(&mut self, depth: usize) -> Result<(), Unfit> {
        let tag = self.out.len();
        self.out.push(NULL);
        let name = self.out.len();
        self.byte(b'"')?;
        self.string_bytes()?;
        if memchr::memchr(0, &self.out[name..]).is_some() {
            return Err(Unfit);
        }
        self.out.push(0);
        self.byte(b':')?;
        self.skip_space();
        self.value(tag, depth)
    }

    /// The value; its type goes into the byte that was left free for it.
    fn value(&mut self, tag: usize, depth: usize) -> Result<(), Unfit> {
        if depth > EVENT_DEPTH {
            return Err(Unfit);
        }
        self.out[tag] = match self.peek()? {
            b'"' => self.string()?,
            b'{' => self.object(depth)?,
            b'[' => self.array(depth)?,
            b't' => self.word(b"true", BOOLEAN, &[1])?,
            b'f' => self.word(b"false", BOOLEAN, &[0])?,
            b'n' => self.word(b"null", NULL, &[])?,
            _ => self.number()?,
        };
        Ok(())
    }

    fn word(&mut self, word: &[u8], tag: u8, value: &[u8]) -> Result<u8, Unfit> {
        if !self.text[self.at..].starts_with(word) {
            return Err(Unfit);
        }
        self.at += word.len();
        self.out.extend_from_slice(value);
        Ok(tag)
    }

    fn object(&mut self, depth: usize) -> Result<u8, Unfit> {
        self.at += 1;
        let open = element::open(self.out);
        self.skip_space();
        let mut names = Names::default();
        if self.peek()? != b'}' {
            loop {
                let at = self.out.len();
                self.member(depth + 1)?;
                if names.is_repeated(self.out, at + 1) {
                    self.fit = Fit::Differs;
                }
                match self.separator()? {
                    b',' => self.skip_space(),
                    b'}' => break,
                    _ => return Err(Unfit),
                }
            }
        } else {
            self.at += 1;
        }
        element::close(self.out, open);
        Ok(DOCUMENT)
    }

    fn array(&mut self, depth: usize) -> Result<u8, Unfit> {
        self.at += 1;
        let open = element::open(self.out);
        self.skip_space();
        if self.peek()? != b']' {
            for index in 0usize.. {
                self.named_value(itoa::Buffer::new().format(index), depth + 1)?;
                match self.separator()? {
                    b',' => self.skip_space(),
                    b']' => break,
                    _ => return Err(Unfit),
                }
            }
        } else {
            self.at += 1;
        }
        element::close(self.out, open);
        Ok(ARRAY)
    }

    /// What follows a value.
    fn separator(&mut self) -> Result<u8, Unfit> {
        self.skip_space();
        let byte = self.peek()?;
        self.at += 1;
        Ok(byte)
    }

    fn string(&mut self) -> Result<u8, Unfit> {
        self.at += 1;
        let length = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        self.string_bytes()?;
        self.out.push(0);
        let size = (self.out.len() - length - 4) as u32;
        self.out[length..length + 4].copy_from_slice(&size.to_le_bytes());
        Ok(STRING)
    }

    /// Everything up to the closing quote, decoded.
    fn string_bytes(&mut self) -> Result<(), Unfit> {
        loop {
            let rest = &self.text[self.at..];
            let stop = memchr::memchr2(b'"', b'\\', rest).ok_or(Unfit)?;
            self.out.extend_from_slice(&rest[..stop]);
            self.at += stop + 1;
            if rest[stop] == b'"' {
                return Ok(());
            }
            self.escape()?;
        }
    }

    /// Only the spelling that the writer itself chooses for a character is reproduced.
    fn escape(&mut self) -> Result<(), Unfit> {
        let byte = self.peek()?;
        self.at += 1;
        let plain = match byte {
            b'"' | b'\\' => byte,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'f' => 12,
            b'/' => {
                self.fit = Fit::Differs;
                b'/'
            }
            b'u' => return self.code_point(),
            _ => return Err(Unfit),
        };
        self.out.push(plain);
        Ok(())
    }

    fn code_point(&mut self) -> Result<(), Unfit> {
        let (first, spelling) = self.hex()?;
        let usual = format!("{first:04x}");
        let has_short_form = matches!(first, 8 | 9 | 10 | 12 | 13);
        if first >= 0x20 || has_short_form || usual.as_bytes() != spelling {
            self.fit = Fit::Differs;
        }
        let code = match first {
            0xd800..=0xdbff => {
                if !self.text[self.at..].starts_with(b"\\u") {
                    return Err(Unfit);
                }
                self.at += 2;
                let (second, _) = self.hex()?;
                let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400).ok_or(Unfit)?;
                0x10000 + ((first - 0xd800) << 10) + low
            }
            _ => first,
        };
        let character = char::from_u32(code).ok_or(Unfit)?;
        self.out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn hex(&mut self) -> Result<(u32, [u8; 4]), Unfit> {
        let digits: [u8; 4] = self.text.get(self.at..self.at + 4).and_then(|four| four.try_into().ok()).ok_or(Unfit)?;
        self.at += 4;
        let text = std::str::from_utf8(&digits).map_err(|_| Unfit)?;
        Ok((u32::from_str_radix(text, 16).map_err(|_| Unfit)?, digits))
    }

    fn number(&mut self) -> Result<u8, Unfit> {
        let rest = &self.text[self.at..];
        let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let token = std::str::from_utf8(&rest[..length]).map_err(|_| Unfit)?;
        self.at += length;
        if token != "-0"
            && !token.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
            && let Ok(whole) = token.parse::<i64>()
        {
            return Ok(self.whole_number(whole));
        }
        let value: f64 = token.parse().map_err(|_| Unfit)?;
        let mut spelling = Vec::with_capacity(24);
        super::to_json::write_double(value, &mut spelling);
        if spelling != token.as_bytes() {
            self.fit = Fit::Differs;
        }
        self.out.extend_from_slice(&value.to_le_bytes());
        Ok(DOUBLE)
    }

    /// The narrowest type, as other tools would store it.
    fn whole_number(&mut self, value: i64) -> u8 {
        match i32::try_from(value) {
            Ok(short) => {
                self.out.extend_from_slice(&short.to_le_bytes());
                INT32
            }
            Err(_) => {
                self.out.extend_from_slice(&value.to_le_bytes());
                INT64
            }
        }
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        let space = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count();
        if space > 0 {
            self.fit = Fit::Differs;
            self.at += space;
        }
    }

    fn byte(&mut self, byte: u8) -> Result<(), Unfit> {
        self.skip_space();
        if self.peek()? == byte {
            self.at += 1;
            Ok(())
        } else {
            Err(Unfit)
        }
    }

    fn peek(&self) -> Result<u8, Unfit> {
        self.text.get(self.at).copied().ok_or(Unfit)
    }
}
