//! Frames in whole blocks: what a disk can write and make durable in one step, past the system's cache.
//!
//! ```text
//!   file    │ … frame 6 │ frame 7 ░│░░░░░░░░░│        ░ frame 8, to be written
//!   blocks  ├─────────────────┼────┴────┼─────────┤
//!           written, done      └ begins with the end of frame 7, which is written again
//! ```
//!
//! The block in which the last frame ended is kept in memory and goes out again with the next one, unchanged up
//! to where the next one begins: as the system's own cache would do it.

use super::file::FRAMES_AT;
use crate::disk::BLOCK_BYTES;

/// Memory beyond this is given back after it was needed.
const KEPT_BYTES: usize = 8 << 20;

/// What is about to be written, and the block that is not full yet.
#[derive(Default)]
pub(super) struct Blocks {
    /// Begins with as many bytes as it takes for the rest to lie at a multiple of the block size.
    memory: Vec<u8>,
    aligned_from: usize,
    /// What the last block holds so far.
    partial: Vec<u8>,
}

impl Blocks {
    /// Continues behind what the block at the file's position holds.
    pub(super) fn continuing(partial: Vec<u8>) -> Self {
        Self { partial, ..Self::default() }
    }

    /// In a file of its own, where frames begin.
    pub(super) fn start_over(&mut self) {
        const { assert!((FRAMES_AT as usize).is_multiple_of(BLOCK_BYTES)) };
        self.partial.clear();
    }

    /// Lays out `length` bytes, which `put` appends, behind what was there. How far before the writer's
    /// position the blocks begin is what [`Blocks::lead`] says.
    pub(super) fn fill(&mut self, length: usize, put: impl FnOnce(&mut Vec<u8>)) -> &[u8] {
        let needed = (self.partial.len() + length).next_multiple_of(BLOCK_BYTES);
        self.memory.clear();
        if self.memory.capacity() > KEPT_BYTES {
            self.memory = Vec::new();
        }
        // Before the address is asked for: nothing below may move the memory.
        self.memory.reserve(needed + BLOCK_BYTES);
        self.aligned_from = self.memory.as_ptr().align_offset(BLOCK_BYTES);
        self.memory.resize(self.aligned_from, 0);
        self.memory.extend_from_slice(&self.partial);
        put(&mut self.memory);
        self.memory.resize(self.aligned_from + needed, 0);
        &self.memory[self.aligned_from..]
    }

    /// Bytes of the first block that were there before.
    pub(super) fn lead(&self) -> usize {
        self.partial.len()
    }

    /// The blocks are durable, and `length` bytes of them are new.
    pub(super) fn written(&mut self, length: usize) {
        let end = self.aligned_from + self.partial.len() + length;
        let full = (self.partial.len() + length) / BLOCK_BYTES * BLOCK_BYTES;
        self.partial.clear();
        self.partial.extend_from_slice(&self.memory[self.aligned_from + full..end]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_written_one_after_the_other_hold_all_that_was_put_in() {
        let (mut blocks, mut file, mut expected) = (Blocks::default(), Vec::new(), Vec::new());
        for (number, length) in [8, 4088, 4096, 16, 20_000, 4_000, 96, 8_192, 24].into_iter().enumerate() {
            let bytes = vec![number as u8 + 1; length];
            let position = expected.len() - blocks.lead();
            assert_eq!(position % BLOCK_BYTES, 0);
            let filled = blocks.fill(length, |out| out.extend_from_slice(&bytes));
            assert_eq!((filled.len() % BLOCK_BYTES, filled.as_ptr().align_offset(BLOCK_BYTES)), (0, 0));
            file.truncate(position);
            file.extend_from_slice(filled);
            blocks.written(length);
            expected.extend_from_slice(&bytes);
            assert_eq!(&file[..expected.len()], expected);
        }
    }
}
