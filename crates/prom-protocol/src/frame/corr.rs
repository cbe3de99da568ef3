//! The correlation of a frame with its answer: any JSON string or number, echoed as it came.

use serde_json::value::RawValue;
use smallvec::SmallVec;

use super::FrameError;
use crate::limits::CORR_BYTES;

/// JSON text of a string or a number; short ones cost no allocation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Corr(SmallVec<[u8; 24]>);

impl Corr {
    pub(super) fn read(raw: &RawValue) -> Result<Self, FrameError> {
        let text = raw.get();
        let scalar = text.starts_with(['"', '-']) || text.starts_with(|c: char| c.is_ascii_digit());
        if !scalar {
            return Err(FrameError::field("corr", "must be a string or a number"));
        }
        if text.len() > CORR_BYTES {
            return Err(FrameError::field("corr", "is longer than 64 bytes"));
        }
        Ok(Self(SmallVec::from_slice(text.as_bytes())))
    }

    /// As clients number their frames.
    pub fn number(number: u64) -> Self {
        Self(SmallVec::from_slice(itoa::Buffer::new().format(number).as_bytes()))
    }

    pub fn as_number(&self) -> Option<u64> {
        std::str::from_utf8(&self.0).ok()?.parse().ok()
    }

    /// JSON text.
    pub fn as_json(&self) -> &[u8] {
        &self.0
    }
}
