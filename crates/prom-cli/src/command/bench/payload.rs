//! Payloads of a wanted size that say who sent them, as which of all, and when they were due. Whoever gets one can
//! tell whether it is unharmed to the last byte.
//!
//! ```text
//!   {"n":"<publisher, 4><number, 12>","due":"<nanoseconds since the leg began, 16>","pad":"…"}      hexadecimal
//! ```

use bytes::{Bytes, BytesMut};
use prom_types::Json;

const NUMBER_AT: usize = 6;
const DUE_AT: usize = 31;
const PAD_AT: usize = 56;
const DIGITS: usize = 16;
const NUMBER_BITS: u32 = 48;

/// All but the padding.
pub const SMALLEST: usize = PAD_AT + 2;
/// Fits into a frame of a mebibyte with everything around it.
pub const LARGEST: usize = 1_000_000;
/// Payloads are cut from pieces of this size.
const PIECE_BYTES: usize = 64 * 1024;

/// What a payload says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    pub publisher: u16,
    /// From 0 for each publisher.
    pub number: u64,
    pub due_ns: u64,
}

/// Writes payloads, and knows its own.
#[derive(Debug, Clone)]
pub struct Payloads {
    template: Vec<u8>,
    piece: BytesMut,
}

impl Payloads {
    /// `size_bytes` is at least [`SMALLEST`].
    pub fn new(size_bytes: usize) -> Self {
        let zeros = "0".repeat(DIGITS);
        // Not all the same, for disks that compress.
        let letters = (0..size_bytes.saturating_sub(SMALLEST)).map(|at| char::from(b'a' + (at * at / 7 % 26) as u8));
        let pad: String = letters.collect();
        let template = format!(r#"{{"n":"{zeros}","due":"{zeros}","pad":"{pad}"}}"#).into_bytes();
        Self { template, piece: BytesMut::new() }
    }

    pub fn make(&mut self, label: Label) -> Json {
        let size = self.template.len();
        if self.piece.capacity() < size {
            self.piece.reserve(PIECE_BYTES.max(size));
        }
        self.piece.extend_from_slice(&self.template);
        let number = u64::from(label.publisher) << NUMBER_BITS | label.number;
        write_hex(&mut self.piece[NUMBER_AT..], number);
        write_hex(&mut self.piece[DUE_AT..], label.due_ns);
        Json::trusted(self.piece.split().freeze())
    }

    /// `None` if it is not what [`Payloads::make`] made.
    pub fn read(&self, payload: &Bytes) -> Option<Label> {
        let same = payload.len() == self.template.len()
            && payload[..NUMBER_AT] == self.template[..NUMBER_AT]
            && payload[NUMBER_AT + DIGITS..DUE_AT] == self.template[NUMBER_AT + DIGITS..DUE_AT]
            && payload[DUE_AT + DIGITS..] == self.template[DUE_AT + DIGITS..];
        if !same {
            return None;
        }
        let number = read_hex(&payload[NUMBER_AT..NUMBER_AT + DIGITS])?;
        Some(Label {
            publisher: (number >> NUMBER_BITS) as u16,
            number: number & ((1 << NUMBER_BITS) - 1),
            due_ns: read_hex(&payload[DUE_AT..DUE_AT + DIGITS])?,
        })
    }
}

fn write_hex(out: &mut [u8], number: u64) {
    for (at, digit) in out[..DIGITS].iter_mut().enumerate() {
        let four_bits = (number >> (60 - 4 * at)) & 0xF;
        *digit = b"0123456789abcdef"[four_bits as usize];
    }
}

fn read_hex(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |number, digit| {
        let four_bits = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(four_bits))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABEL: Label = Label { publisher: 0x1234, number: 0xabc_def0_1234, due_ns: u64::MAX };

    #[test]
    fn a_payload_has_the_wanted_size_is_json_and_says_what_it_was_told() {
        for size in [SMALLEST, SMALLEST + 1, 256, 100_000] {
            let mut payloads = Payloads::new(size);
            let first = payloads.make(Label { number: 0, ..LABEL });
            let json = payloads.make(LABEL);
            assert_eq!(json.as_bytes().len(), size);
            Json::parse(json.as_str().to_owned()).unwrap();
            assert_eq!(payloads.read(&json.into_bytes()), Some(LABEL));
            assert_eq!(payloads.read(&first.into_bytes()).unwrap().number, 0);
        }
    }

    #[test]
    fn a_payload_with_any_byte_changed_is_not_taken_for_the_same() {
        let mut payloads = Payloads::new(SMALLEST + 8);
        let sound = payloads.make(LABEL).into_bytes();
        for at in 0..sound.len() {
            let mut harmed = sound.to_vec();
            harmed[at] ^= 1;
            assert_ne!(payloads.read(&harmed.into()), Some(LABEL), "byte {at}");
        }
        assert_eq!(payloads.read(&sound.slice(1..)), None);
    }
}
