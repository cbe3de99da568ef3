//! The newest events of a log in memory: those not yet in a segment, and as a cache some that are.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use prom_store::Record;
use prom_types::Offset;

/// What one frame holds of one log: records without holes.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    base: Offset,
    bytes: Bytes,
    /// Where each record begins.
    positions: Arc<[u32]>,
    /// Some record's id has to stay unique for as long as it is retained.
    exact: bool,
}

impl Chunk {
    pub(crate) fn new(base: Offset, bytes: Bytes, positions: Arc<[u32]>) -> Self {
        let exact = |&at: &u32| Record::trusted(&bytes.slice(at as usize..)).is_ok_and(|record| record.is_exact());
        let exact = positions.iter().any(exact);
        Self { base, bytes, positions, exact }
    }

    /// As `new`, where the caller knows whether a record is exact.
    pub(crate) fn with_exact(base: Offset, bytes: Bytes, positions: Arc<[u32]>, exact: bool) -> Self {
        Self { base, bytes, positions, exact }
    }

    pub(crate) fn base(&self) -> Offset {
        self.base
    }

    pub(crate) fn end(&self) -> Offset {
        self.base + self.positions.len() as u64
    }

    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The record at `offset`, which must be within.
    pub(crate) fn record(&self, offset: Offset) -> Option<Record> {
        let at = *self.positions.get(usize::try_from(offset.checked_sub(self.base)?).ok()?)?;
        Record::trusted(&self.bytes.slice(at as usize..)).ok()
    }

    pub(crate) fn records(&self) -> impl Iterator<Item = Record> {
        (self.base..self.end()).filter_map(|offset| self.record(offset))
    }

    /// The part from `offset` on; all of it if that lies before.
    pub(crate) fn from(self, offset: Offset) -> Self {
        match usize::try_from(offset.saturating_sub(self.base))
            .ok()
            .and_then(|skip| self.positions.split_at_checked(skip))
        {
            Some((skipped, [first, ..])) if !skipped.is_empty() => {
                let positions: Vec<u32> = self.positions[skipped.len()..].iter().map(|at| at - first).collect();
                Self::new(offset, self.bytes.slice(*first as usize..), positions.into())
            }
            _ => self,
        }
    }

    /// The first offset from which on at most `bytes` of this chunk remain.
    pub(crate) fn first_within(&self, bytes: u64) -> Offset {
        let beyond = |&at: &u32| self.len_bytes() - u64::from(at) > bytes;
        self.base + self.positions.partition_point(beyond) as u64
    }

    pub(crate) fn has_exact(&self) -> bool {
        self.exact
    }

    pub(crate) fn len_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// Chunks by offset. The part before `filled_to` is also in segments.
#[derive(Debug, Default)]
pub(crate) struct LogTail {
    chunks: VecDeque<Chunk>,
    filled_to: Offset,
    unfilled_bytes: u64,
}

impl LogTail {
    pub(crate) fn starting_at(filled_to: Offset) -> Self {
        Self { filled_to, ..Self::default() }
    }

    pub(crate) fn push(&mut self, chunk: Chunk) {
        self.unfilled_bytes += chunk.len_bytes();
        self.chunks.push_back(chunk);
    }

    pub(crate) fn filled_to(&self) -> Offset {
        self.filled_to
    }

    pub(crate) fn unfilled_bytes(&self) -> u64 {
        self.unfilled_bytes
    }

    /// The first offset that memory can serve.
    pub(crate) fn base(&self) -> Option<Offset> {
        self.chunks.front().map(Chunk::base)
    }

    /// Everything before this needs the journal no more. Always the end of a chunk, also when the log's
    /// start lies within one, so that replaying the journal finds whole chunks.
    pub(crate) fn durable_to(&self, next: Offset) -> Offset {
        let first = self.chunks.partition_point(|chunk| chunk.base < self.filled_to);
        self.chunks.get(first).map_or(next, Chunk::base)
    }

    /// Chunks that are not in a segment yet, oldest first.
    pub(crate) fn unfilled(&self) -> Vec<Chunk> {
        let first = self.chunks.partition_point(|chunk| chunk.base < self.filled_to);
        self.chunks.range(first..).cloned().collect()
    }

    /// Everything before `offset` has reached a segment (or is of no use any more).
    pub(crate) fn filled(&mut self, offset: Offset) {
        let first = self.chunks.partition_point(|chunk| chunk.end() <= self.filled_to);
        let newly = self.chunks.range(first..).take_while(|chunk| chunk.end() <= offset);
        self.unfilled_bytes -= newly.map(Chunk::len_bytes).sum::<u64>();
        self.filled_to = self.filled_to.max(offset);
    }

    /// Lets go of the oldest chunk if it is in a segment; returns its memory.
    pub(crate) fn evict_oldest(&mut self) -> Option<Bytes> {
        let chunk = self.chunks.pop_front_if(|chunk| chunk.end() <= self.filled_to)?;
        Some(chunk.bytes)
    }

    /// Retention: what lies wholly before `start` needs no memory. What is in no segment yet still gets there: its
    /// ids may come again, and segments are where they are remembered.
    pub(crate) fn drop_before(&mut self, start: Offset) {
        let filled_to = self.filled_to;
        while self.chunks.pop_front_if(|chunk| chunk.end() <= start.min(filled_to)).is_some() {}
    }

    /// The chunk that holds `offset`, or the next one behind it.
    pub(crate) fn chunk_from(&self, offset: Offset) -> Option<usize> {
        let index = self.chunks.partition_point(|chunk| chunk.end() <= offset);
        (index < self.chunks.len()).then_some(index)
    }

    pub(crate) fn chunks_from(&self, index: usize) -> impl Iterator<Item = &Chunk> {
        self.chunks.range(index..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(base: Offset, events: usize) -> Chunk {
        let positions: Vec<u32> = (0..events as u32).map(|number| number * 10).collect();
        Chunk::with_exact(base, Bytes::from(vec![0; events * 10]), positions.into(), false)
    }

    #[test]
    fn unfilled_bytes_follow_filling_and_trimming() {
        let mut tail = LogTail::default();
        for base in (0..50).step_by(5) {
            tail.push(chunk(base, 5));
        }
        assert_eq!(tail.unfilled_bytes(), 500);
        tail.filled(5);
        assert_eq!((tail.unfilled_bytes(), tail.filled_to()), (450, 5));
        tail.filled(20);
        tail.filled(10);
        assert_eq!((tail.unfilled_bytes(), tail.filled_to()), (300, 20));
        tail.drop_before(12);
        assert_eq!((tail.unfilled_bytes(), tail.base()), (300, Some(10)));
        tail.drop_before(33);
        assert_eq!((tail.unfilled_bytes(), tail.filled_to(), tail.base()), (300, 20, Some(20)));
        assert_eq!(tail.unfilled().len(), 6, "what is in no segment stays");
        tail.filled(35);
        tail.drop_before(33);
        assert_eq!((tail.unfilled_bytes(), tail.base()), (150, Some(30)));
    }
}
