//! Filling a collection anew: its next generation is made beside it, takes its place in one commit, and the old one is removed.

use prom_engine::{Bus, UnitOfWork};
use prom_store::DocumentWrite;

use super::{Collection, CollectionInfo, CollectionName};
use crate::JobError;
use crate::limits::COLLECTION_REMOVES;

impl Collection {
    /// The generation after this one, with nothing in it. Its documents are written beside those of this one.
    pub fn beside(&self) -> Self {
        let generation = self.info.generation.saturating_add(1);
        Self { info: CollectionInfo { count: 0, generation, ..self.info.clone() }, ..self.clone() }
    }

    /// The same generation beside this one, as its maker kept it.
    pub fn beside_as(&self, info: CollectionInfo) -> Self {
        Self { info, ..self.clone() }
    }

    /// Puts a generation that was made beside this one in its place, with the unit of work.
    pub fn replaced_by(&self, work: &mut UnitOfWork, made: Self) -> Result<Self, JobError> {
        let mut after = Self { revision: self.revision, ..made };
        work.write(after.registration()?);
        after.revision += 1;
        Ok(after)
    }
}

impl CollectionName {
    /// Adds the removal of some documents of a generation that nobody reads to the unit of work. `true`: nothing is left of it.
    pub async fn remove_some(&self, bus: &Bus, work: &mut UnitOfWork, generation: u32) -> Result<bool, JobError> {
        for part in self.parts_in_store(generation) {
            let some = bus.documents(&part, None, COLLECTION_REMOVES).await?;
            if !some.is_empty() {
                some.iter().for_each(|document| work.write(DocumentWrite::delete(&part, &document.key)));
                return Ok(false);
            }
        }
        Ok(true)
    }
}
