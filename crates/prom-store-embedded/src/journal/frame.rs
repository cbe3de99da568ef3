//! A frame: the unit that is written, synced and recovered as one.
//!
//! ```text
//!   0 u32 magic   4 u32 CRC-32C of all that follows   8 u64 number   16 u32 body length   20 u32 zero   24 body
//! ```
//! Frames begin at multiples of eight bytes.

use crate::codec::Take;

const MAGIC: u32 = 0x4d52_464a;
pub(crate) const HEADER_BYTES: usize = 24;
pub(crate) const ALIGN: usize = 8;

/// Reserves the header; the body is appended behind it.
pub(crate) fn begin(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.resize(HEADER_BYTES, 0);
}

/// Fills in the header and pads to the alignment.
pub(crate) fn finish(buffer: &mut Vec<u8>, number: u64) {
    let body = (buffer.len() - HEADER_BYTES) as u32;
    buffer[0..4].copy_from_slice(&MAGIC.to_le_bytes());
    buffer[8..16].copy_from_slice(&number.to_le_bytes());
    buffer[16..20].copy_from_slice(&body.to_le_bytes());
    let checksum = crc32c::crc32c(&buffer[8..]);
    buffer[4..8].copy_from_slice(&checksum.to_le_bytes());
    buffer.resize(buffer.len().next_multiple_of(ALIGN), 0);
}

/// A frame that checked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) number: u64,
    /// Length of the body, which follows the header.
    pub(crate) body: usize,
    /// From this frame's beginning to where the next one begins.
    pub(crate) stride: usize,
}

/// The number of what claims to be a frame, unchecked.
pub(crate) fn number(bytes: &[u8]) -> Option<u64> {
    let mut take = Take::new(bytes);
    (take.u32().ok()? == MAGIC).then_some(())?;
    take.slice(4).ok()?;
    take.u64().ok()
}

/// The frame at the beginning of `bytes`, if there is a whole and sound one.
pub(crate) fn check(bytes: &[u8]) -> Option<Frame> {
    let mut take = Take::new(bytes);
    if take.u32().ok()? != MAGIC {
        return None;
    }
    let checksum = take.u32().ok()?;
    let number = take.u64().ok()?;
    let body = take.u32().ok()? as usize;
    let checked = bytes.get(8..HEADER_BYTES.checked_add(body)?)?;
    let stride = (HEADER_BYTES + body).next_multiple_of(ALIGN);
    (crc32c::crc32c(checked) == checksum).then_some(Frame { number, body, stride })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_cut_or_flipped_anywhere_is_refused() {
        let mut bytes = Vec::new();
        begin(&mut bytes);
        bytes.extend_from_slice(b"some entries");
        finish(&mut bytes, 7);
        assert_eq!(check(&bytes).map(|frame| (frame.number, frame.body)), Some((7, 12)));
        for cut in 0..HEADER_BYTES + 12 {
            assert_eq!(check(&bytes[..cut]), None, "cut at {cut}");
        }
        for bit in 0..(HEADER_BYTES - 4 + 12) * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(check(&flipped).is_none(), "bit {bit}");
        }
    }
}
