//! The payload, the same bytes for every server: a JSON object with the event's number and filling.
//!
//! Whoever consumes reads the number back, so that what arrived can be held against what was sent.

use bytes::Bytes;

const OPEN: &[u8] = b"{\"n\":\"";
const BETWEEN: &[u8] = b"\",\"filling\":\"";
const CLOSE: &[u8] = b"\"}";
const DIGITS: usize = 12;
/// What it has without filling.
pub const SMALLEST_BYTES: usize = OPEN.len() + DIGITS + BETWEEN.len() + CLOSE.len();

/// A payload of a size, made once and numbered per event.
#[derive(Debug, Clone)]
pub struct Payload {
    template: Vec<u8>,
}

impl Payload {
    pub fn of_size(bytes: usize) -> Self {
        let filling = bytes.saturating_sub(SMALLEST_BYTES);
        let mut template = Vec::with_capacity(bytes);
        template.extend_from_slice(OPEN);
        template.extend_from_slice(&[b'0'; DIGITS]);
        template.extend_from_slice(BETWEEN);
        // Text that repeats only after a while, should anybody compress.
        template.extend((0..filling).map(|at| b'a' + u8::try_from(at * at % 25).unwrap_or(0)));
        template.extend_from_slice(CLOSE);
        Self { template }
    }

    pub fn bytes(&self) -> usize {
        self.template.len()
    }

    pub fn write(&self, number: u64, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(&self.template);
        put_digits(number, &mut out[begin + OPEN.len()..begin + OPEN.len() + DIGITS]);
    }

    pub fn of(&self, number: u64) -> Bytes {
        let mut text = Vec::with_capacity(self.template.len());
        self.write(number, &mut text);
        text.into()
    }
}

fn put_digits(mut number: u64, digits: &mut [u8]) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
    }
}

/// The number of the event with this payload; `None` if it is none of ours.
pub fn number_of(payload: &[u8]) -> Option<u64> {
    let digits = payload.strip_prefix(OPEN)?.get(..DIGITS)?;
    digits.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_has_the_size_asked_for_and_is_json() {
        for bytes in [SMALLEST_BYTES, 256, 1024, 10_240] {
            let text = Payload::of_size(bytes).of(7);
            assert_eq!(text.len(), bytes);
            assert!(serde_json::from_slice::<serde_json::Value>(&text).is_ok());
        }
    }

    #[test]
    fn the_number_is_read_back() {
        let payload = Payload::of_size(256);
        for number in [0, 9, 123_456_789_012] {
            assert_eq!(number_of(&payload.of(number)), Some(number));
        }
        for foreign in [&b""[..], b"{\"n\":\"12\"}", b"{\"n\":\"00000000000x\"}"] {
            assert_eq!(number_of(foreign), None);
        }
    }
}
