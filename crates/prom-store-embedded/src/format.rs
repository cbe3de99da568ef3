//! The format of a data directory: a version that is checked before anything else is read.

use std::path::Path;

use prom_store::StoreError;

use crate::fault::io;

const NAME: &str = "FORMAT";
const CURRENT: &str = "promethean embedded 1";

/// Writes the version into a new directory, or refuses one that this software cannot read.
pub(crate) fn check(root: &Path) -> Result<(), StoreError> {
    let path = root.join(NAME);
    match std::fs::read_to_string(&path) {
        Ok(found) if found.trim() == CURRENT => Ok(()),
        Ok(found) => {
            Err(StoreError::Format { path, found: format!("{:?}", found.trim()), supported: format!("{CURRENT:?}") })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let write = || {
                // Under another name first: half a file would keep the directory from ever opening.
                let draft = path.with_extension("new");
                std::fs::write(&draft, format!("{CURRENT}\n"))?;
                std::fs::File::open(&draft)?.sync_all()?;
                std::fs::rename(&draft, &path)?;
                std::fs::File::open(root)?.sync_all()
            };
            write().map_err(io("writing", &path))
        }
        Err(error) => Err(io("reading", &path)(error)),
    }
}
