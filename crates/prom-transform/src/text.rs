//! JSON text in and out of programs: strict in what it reads, valid in what it writes, charged by the byte.

use std::borrow::Cow;

use jaq_json::{Num, Val};
use serde::de::IgnoredAny;

use crate::limits::NUMBER_BYTES;
use crate::meter;
use crate::value::Value;

/// Reads exactly one JSON value. The interpreter's own reader accepts more than JSON (comments, NaN, bytes), so the text
/// is checked first.
pub(crate) fn read(text: &[u8]) -> Result<Value, String> {
    let characters = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    serde_json::from_str::<IgnoredAny>(characters).map_err(|error| error.to_string())?;
    let depth = scan(text)?;
    if depth > meter::depth_limit() {
        return Err(format!("nested more than {} deep", meter::depth_limit()));
    }
    let val = jaq_json::read::parse_single(text).map_err(|error| error.to_string())?;
    Ok(Value::built(val, depth))
}

/// The nesting depth of valid JSON text; refuses numbers that are too long to read quickly.
fn scan(text: &[u8]) -> Result<u16, String> {
    let (mut depth, mut deepest, mut digits) = (0u16, 0u16, 0usize);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth = depth.saturating_add(1);
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ if digits > NUMBER_BYTES => return Err(format!("a number of more than {NUMBER_BYTES} digits")),
            _ => {}
        }
    }
    Ok(deepest)
}

/// Why a value has no JSON text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoText {
    /// The writer was told to stop.
    Full,
    KeyIsNotAString,
}

/// An output of the program, against the budget for output.
pub(crate) fn write_output(val: &Val) -> Result<Vec<u8>, NoText> {
    let mut writer = Writer::new(meter::output, usize::MAX);
    writer.value(val)?;
    Ok(writer.out)
}

/// Text that stays inside the program (`tojson`, `tostring`), against the budget for values.
pub(crate) fn write_inside(val: &Val) -> Result<Vec<u8>, NoText> {
    let mut writer = Writer::new(meter::build, usize::MAX);
    writer.value(val)?;
    Ok(writer.out)
}

/// The beginning of a value's text, for messages.
pub(crate) fn abbreviate(val: &Val, bytes: usize) -> Vec<u8> {
    let mut writer = Writer::new(meter::work, bytes);
    // Truncated or not, this is enough for a message.
    let _ = writer.value(val);
    writer.out
}

/// Text for a message, cut at a character.
pub(crate) fn quote(text: &[u8], bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return String::from_utf8_lossy(text);
    }
    let cut = (0..=bytes).rev().find(|at| text[*at] & 0xC0 != 0x80).unwrap_or(0);
    Cow::Owned(format!("{}…", String::from_utf8_lossy(&text[..cut])))
}

struct Writer {
    out: Vec<u8>,
    paid: usize,
    pay: fn(usize),
    full_at: usize,
}

impl Writer {
    fn new(pay: fn(usize), full_at: usize) -> Self {
        Self { out: Vec::new(), paid: 0, pay, full_at }
    }

    fn value(&mut self, val: &Val) -> Result<(), NoText> {
        self.settle()?;
        match val {
            Val::Null => self.out.extend(b"null"),
            Val::Bool(true) => self.out.extend(b"true"),
            Val::Bool(false) => self.out.extend(b"false"),
            Val::Num(number) => self.number(number),
            Val::TStr(text) | Val::BStr(text) => self.string(text),
            Val::Arr(elements) => {
                self.out.push(b'[');
                for (index, element) in elements.iter().enumerate() {
                    self.comma(index);
                    self.value(element)?;
                }
                self.out.push(b']');
            }
            Val::Obj(entries) => {
                self.out.push(b'{');
                for (index, (key, element)) in entries.iter().enumerate() {
                    self.comma(index);
                    match key {
                        Val::TStr(key) => self.string(key),
                        _ => return Err(NoText::KeyIsNotAString),
                    }
                    self.out.push(b':');
                    self.value(element)?;
                }
                self.out.push(b'}');
            }
        }
        self.settle()
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.out.push(b',');
        }
    }

    fn string(&mut self, text: &[u8]) {
        // Writing into memory cannot fail.
        let _ = serde_json::to_writer(&mut self.out, &String::from_utf8_lossy(text));
    }

    fn number(&mut self, number: &Num) {
        match number {
            Num::Dec(text) if serde_json::from_str::<IgnoredAny>(text).is_ok() => self.out.extend(text.bytes()),
            Num::Dec(text) => self.float(text.parse().unwrap_or(f64::NAN)),
            Num::Float(float) => self.float(*float),
            Num::Int(_) | Num::BigInt(_) => self.out.extend(number.to_string().bytes()),
        }
    }

    /// Whole numbers are written without a fraction, as jq does; up to here they are exact in a double.
    fn float(&mut self, float: f64) {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if float.fract() == 0.0 && float.abs() <= EXACT {
            self.out.extend(format!("{float}").bytes());
        } else {
            // Writing into memory cannot fail; what is not finite becomes null.
            let _ = serde_json::to_writer(&mut self.out, &float);
        }
    }

    fn settle(&mut self) -> Result<(), NoText> {
        (self.pay)(self.out.len() - self.paid);
        meter::work(1);
        self.paid = self.out.len();
        if self.out.len() > self.full_at { Err(NoText::Full) } else { Ok(()) }
    }
}
