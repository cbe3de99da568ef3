//! The name of a log, in the folder of its segments: `orders.placed/0`. Only a rebuild reads it, when the documents that
//! name all logs are gone.

use std::path::Path;
use std::sync::Arc;

use prom_store::{LogName, StoreError};
use prom_types::TopicName;

use super::BackgroundWorker;
use crate::disk::{Create, Disk};
use crate::fault::io;
use crate::log::Log;

pub(crate) const NAME: &str = "NAME";
/// Longer than any topic's name and a partition's number.
const MOST_BYTES: usize = 512;

impl BackgroundWorker {
    /// Makes sure that a folder of segments says whose they are. Durable with the next checkpoint.
    pub(super) fn write_name(&mut self, log: &Arc<Log>, dir: &Path) -> Result<(), StoreError> {
        let (path, text) = (dir.join(NAME), format!("{}\n", log.name));
        let write = || {
            let file = self.shared.options.disk.open(&path, Create::IfMissing)?;
            if file.len()? == text.len() as u64 {
                return Ok(None);
            }
            file.write_at(text.as_bytes(), 0)?;
            file.set_len(text.len() as u64)?;
            Ok(Some(file))
        };
        let written = write().map_err(io("writing", &path))?;
        self.unsynced_names.extend(written);
        Ok(())
    }
}

/// The log whose segments are in this folder, if it says so.
pub(crate) fn read_name(disk: &dyn Disk, dir: &Path) -> Option<LogName> {
    let file = disk.open(&dir.join(NAME), Create::Never).ok()?;
    let mut bytes = [0; MOST_BYTES];
    let length = file.read_at(&mut bytes, 0).ok()?;
    let (topic, partition) = std::str::from_utf8(&bytes[..length]).ok()?.trim().rsplit_once('/')?;
    Some(LogName::new(TopicName::parse(topic).ok()?, partition.parse().ok()?))
}
