//! Rewriting a sealed segment without what compaction drops.

use std::path::Path;

use prom_store::{Record, StoreError};
use prom_types::EpochMs;

use super::read::SegmentScan;
use super::{OpenFiles, RECORDS_AT, Segment, SegmentMeta};
use crate::disk::Create;
use crate::fault::io;
use crate::options::Sizes;

const WRITE_AT: usize = 1 << 20;

impl Segment {
    /// The records, every one of them sound; damage stops a compaction, because it would be lost for good.
    pub(crate) fn for_each(
        &self,
        files: &OpenFiles,
        mut act: impl FnMut(Record) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut scan = SegmentScan::new(self, files, RECORDS_AT)?;
        while let Some((position, item)) = scan.next_record()? {
            let damaged = |fault: prom_store::record::RecordFault| prom_store::Damage {
                file: self.path.clone(),
                position,
                reason: fault.to_string(),
                lost: None,
            };
            act(item.map_err(damaged)?)?;
        }
        Ok(())
    }

    /// A copy of the next generation with only what `keep` keeps, synced and complete with its caches.
    pub(crate) fn rewrite(
        &self,
        files: &OpenFiles,
        sizes: &Sizes,
        dir: &Path,
        cleaned_at: EpochMs,
        keep: impl Fn(&Record) -> bool,
    ) -> Result<Segment, StoreError> {
        let old = *self.meta.lock();
        let copy = Segment::new(dir, self.base, self.generation + 1);
        let file = files.get(&copy.path, Create::IfMissing).map_err(io("opening", &copy.path))?;
        let mut meta = SegmentMeta {
            end: old.end,
            length: 0,
            events: 0,
            first_ts: 0,
            last_ts: 0,
            sealed: true,
            cleaned_at: Some(old.cleaned_at.unwrap_or(cleaned_at)),
        };
        let mut buffer = copy.header();
        let flush = |buffer: &mut Vec<u8>, meta: &mut SegmentMeta| {
            file.write_at(buffer, meta.length).map_err(io("writing", &copy.path))?;
            meta.length += buffer.len() as u64;
            buffer.clear();
            Ok::<_, StoreError>(())
        };
        self.for_each(files, |record| {
            if keep(&record) {
                buffer.extend_from_slice(record.as_bytes());
                if meta.events == 0 {
                    meta.first_ts = record.stored_ts();
                }
                meta.last_ts = record.stored_ts();
                meta.events += 1;
            }
            if buffer.len() >= WRITE_AT { flush(&mut buffer, &mut meta) } else { Ok(()) }
        })?;
        flush(&mut buffer, &mut meta)?;
        file.set_len(meta.length).and_then(|()| file.sync_data()).map_err(io("syncing", &copy.path))?;
        *copy.meta.lock() = meta;
        copy.forget_index();
        let index = copy.rebuild_index(files, sizes.index_interval)?;
        *copy.index.lock() = Some(index.into());
        copy.save_index(files, sizes.index_interval)?;
        copy.save_ids(files)?;
        copy.forget_index();
        files.disk().sync_dir(dir).map_err(io("syncing", dir))?;
        Ok(copy)
    }
}
