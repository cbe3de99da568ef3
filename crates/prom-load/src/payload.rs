//! Payloads of a given size that say which event they belong to and when it was due. A reader can tell whether one is
//! intact to the last byte.
//!
//! ```text
//!   {"n":"<number, 16>","due":"<nanoseconds, 16>","pad":"…"}      hexadecimal
//! ```

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use bytes::Bytes;

const NUMBER_AT: usize = 6;
const DUE_AT: usize = 31;
const PAD_AT: usize = 56;
const DIGITS: usize = 16;

/// All but the padding.
pub const SMALLEST_PAYLOAD: usize = PAD_AT + 2;
/// Fits into a frame of a mebibyte with everything around it.
pub const LARGEST_PAYLOAD: usize = 1_000_000;

/// Times in payloads count from here: the first use in this process.
static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// What a payload says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadLabel {
    pub number: u64,
    /// When the event was due, in nanoseconds of this process; 0 if its time is not measured.
    due_ns: u64,
}

impl PayloadLabel {
    pub fn untimed(number: u64) -> Self {
        Self { number, due_ns: 0 }
    }

    pub fn due(number: u64, at: Instant) -> Self {
        Self { number, due_ns: nanos(at).max(1) }
    }

    pub fn is_timed(&self) -> bool {
        self.due_ns > 0
    }

    /// How long after it was due.
    pub fn late_at(&self, now: Instant) -> Duration {
        Duration::from_nanos(nanos(now).saturating_sub(self.due_ns))
    }
}

fn nanos(at: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(*BEGIN).as_nanos()).unwrap_or(u64::MAX)
}

/// Payloads of one size. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Payload {
    template: Arc<[u8]>,
}

impl Payload {
    /// At least [`SMALLEST_PAYLOAD`] bytes.
    pub fn of_size(bytes: usize) -> Self {
        // Before the first label, so that no event is due before the beginning.
        LazyLock::force(&BEGIN);
        let zeros = "0".repeat(DIGITS);
        // Not all the same, for disks and servers that compress.
        let letters = (0..bytes.saturating_sub(SMALLEST_PAYLOAD)).map(|at| char::from(b'a' + (at * at / 7 % 26) as u8));
        let pad: String = letters.collect();
        let template = format!(r#"{{"n":"{zeros}","due":"{zeros}","pad":"{pad}"}}"#);
        Self { template: template.into_bytes().into() }
    }

    pub fn bytes(&self) -> usize {
        self.template.len()
    }

    pub fn write(&self, label: PayloadLabel, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(&self.template);
        write_hex(&mut out[begin + NUMBER_AT..], label.number);
        // The template has zeros.
        if label.is_timed() {
            write_hex(&mut out[begin + DUE_AT..], label.due_ns);
        }
    }

    pub fn make(&self, label: PayloadLabel) -> Bytes {
        let mut text = Vec::with_capacity(self.bytes());
        self.write(label, &mut text);
        text.into()
    }

    /// `None` if it is not exactly what [`Payload::write`] wrote.
    pub fn read(&self, payload: &[u8]) -> Option<PayloadLabel> {
        let is_same = payload.len() == self.bytes()
            && payload[..NUMBER_AT] == self.template[..NUMBER_AT]
            && payload[NUMBER_AT + DIGITS..DUE_AT] == self.template[NUMBER_AT + DIGITS..DUE_AT]
            && payload[DUE_AT + DIGITS..] == self.template[DUE_AT + DIGITS..];
        if !is_same {
            return None;
        }
        let number = read_hex(&payload[NUMBER_AT..NUMBER_AT + DIGITS])?;
        Some(PayloadLabel { number, due_ns: read_hex(&payload[DUE_AT..DUE_AT + DIGITS])? })
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

    const LABEL: PayloadLabel = PayloadLabel { number: 0x1234_abcd_ef01_2345, due_ns: u64::MAX };

    #[test]
    fn a_payload_has_the_size_asked_for_is_json_and_says_what_it_was_told() {
        for bytes in [SMALLEST_PAYLOAD, SMALLEST_PAYLOAD + 1, 256, 100_000] {
            let payload = Payload::of_size(bytes);
            for label in [LABEL, PayloadLabel::untimed(0)] {
                let text = payload.make(label);
                assert_eq!(text.len(), bytes);
                serde_json::from_slice::<serde_json::Value>(&text).unwrap();
                assert_eq!(payload.read(&text), Some(label));
            }
        }
    }

    #[test]
    fn a_payload_with_any_byte_changed_is_not_taken_for_the_same() {
        let payload = Payload::of_size(SMALLEST_PAYLOAD + 8);
        let intact = payload.make(LABEL);
        for at in 0..intact.len() {
            let mut damaged = intact.to_vec();
            damaged[at] ^= 1;
            assert_ne!(payload.read(&damaged), Some(LABEL), "byte {at}");
        }
        assert_eq!(payload.read(&intact[1..]), None);
    }

    #[test]
    fn a_label_tells_how_late_its_event_is() {
        let payload = Payload::of_size(SMALLEST_PAYLOAD);
        let due = Instant::now();
        let label = payload.read(&payload.make(PayloadLabel::due(7, due))).unwrap();
        assert!(label.is_timed() && !PayloadLabel::untimed(7).is_timed());
        assert_eq!(label.late_at(due + Duration::from_millis(3)), Duration::from_millis(3));
        assert_eq!(label.late_at(due - Duration::from_millis(1)), Duration::ZERO);
    }
}
