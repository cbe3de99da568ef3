//! Appending to the active segment, and sealing it.

use prom_store::StoreError;

use super::index::IndexEntry;
use super::{OpenFiles, RECORDS_AT, Segment};
use crate::disk::Create;
use crate::fault::io;
use crate::log::Chunk;
use crate::options::Sizes;

impl Segment {
    /// Writes a chunk behind what is there. Not synced; a checkpoint does that.
    pub(crate) fn append(&self, files: &OpenFiles, chunk: &Chunk, sizes: &Sizes) -> Result<(), StoreError> {
        let mut meta = *self.meta.lock();
        let is_new = meta.length == RECORDS_AT;
        let create = if is_new { Create::IfMissing } else { Create::Never };
        let file = files.get(&self.path, create).map_err(io("opening", &self.path))?;
        if is_new {
            file.write_at(&self.header(), 0).map_err(io("writing", &self.path))?;
        }
        file.write_at(chunk.bytes(), meta.length).map_err(io("writing", &self.path))?;

        let mut position = meta.length;
        let mut last_ts = meta.last_ts;
        let mut first_ts = (meta.events > 0).then_some(meta.first_ts);
        let entries = chunk.records().map(|record| {
            let entry = IndexEntry { offset: record.offset(), stored_ts: record.stored_ts(), position };
            position += record.len() as u64;
            last_ts = record.stored_ts();
            first_ts.get_or_insert(last_ts);
            entry
        });
        self.extend_index(entries, sizes.index_interval);
        if position == meta.length {
            // The index is not loaded, so the records were not walked: the ends are enough.
            last_ts = chunk.record(chunk.end() - 1).map_or(last_ts, |record| record.stored_ts());
            first_ts = first_ts.or_else(|| chunk.record(chunk.base()).map(|record| record.stored_ts()));
        }
        meta.length += chunk.len_bytes();
        meta.end = chunk.end();
        meta.events += chunk.end() - chunk.base();
        meta.last_ts = last_ts;
        meta.first_ts = first_ts.unwrap_or(last_ts);
        *self.meta.lock() = meta;
        Ok(())
    }

    pub(crate) fn is_full(&self, sizes: &Sizes) -> bool {
        let meta = self.meta.lock();
        meta.length >= sizes.segment || meta.events >= sizes.segment_events
    }

    /// No more appends. Index and ids are written beside it.
    pub(crate) fn seal(&self, files: &OpenFiles, sizes: &Sizes) -> Result<(), StoreError> {
        self.save_index(files, sizes.index_interval)?;
        self.save_ids(files)?;
        self.meta.lock().sealed = true;
        self.forget_index();
        Ok(())
    }

    pub(crate) fn sync(&self, files: &OpenFiles) -> Result<(), StoreError> {
        let file = files.get(&self.path, Create::IfMissing).map_err(io("opening", &self.path))?;
        file.sync_data().map_err(io("syncing", &self.path))
    }
}
