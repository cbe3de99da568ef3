//! Memory for chunks, used again: a fresh allocation of this size costs a page fault for every four
//! kilobytes, which was a tenth of the journal thread's time.

use bytes::Bytes;
use parking_lot::Mutex;

/// How much memory waits to be used again at most.
const KEEP_BYTES: usize = 8 << 20;
/// Smaller ones are cheap to allocate.
const WORTH_KEEPING: usize = 32 << 10;

#[derive(Default)]
pub(crate) struct Buffers {
    free: Mutex<Vec<Vec<u8>>>,
}

impl Buffers {
    /// An empty buffer with room for at least about `bytes`.
    pub(crate) fn take(&self, bytes: usize) -> Vec<u8> {
        if bytes >= WORTH_KEEPING {
            let mut free = self.free.lock();
            if let Some(index) = free.iter().position(|buffer| buffer.capacity() >= bytes) {
                return free.swap_remove(index);
            }
        }
        Vec::with_capacity(bytes)
    }

    /// Keeps the memory of a chunk that has no reader any more.
    pub(crate) fn give(&self, bytes: Bytes) {
        let Ok(unshared) = bytes.try_into_mut() else {
            return;
        };
        let mut buffer = Vec::from(unshared);
        buffer.clear();
        let mut free = self.free.lock();
        let kept: usize = free.iter().map(Vec::capacity).sum();
        if buffer.capacity() >= WORTH_KEEPING && kept + buffer.capacity() <= KEEP_BYTES {
            free.push(buffer);
        }
    }
}
