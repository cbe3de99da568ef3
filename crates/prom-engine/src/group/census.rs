//! How many groups there are, and who made them: counted when it is first needed, then kept up to date.
//!
//! It is counted again after a group was deleted and, where other hubs make groups on the same store, when it grows old.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prom_store::Store;

use super::{COLLECTION, GroupDocument};
use crate::Error;
use crate::bus::Core;
use crate::caps::Made;
use crate::limits::{CENSUS_AGE, DOCUMENTS_AT_ONCE};

/// `None` before the first look.
#[derive(Default)]
pub(crate) struct GroupCensus(Mutex<Option<Counted>>);

struct Counted {
    made: Made,
    /// On the monotonic clock.
    at: Duration,
}

impl GroupCensus {
    /// A group became durable.
    pub fn made(&self, maker: Option<&Arc<str>>) {
        if let Some(counted) = &mut *self.0.lock() {
            counted.made.add(maker);
        }
    }

    /// A group was deleted; the next look counts again.
    pub fn deleted(&self) {
        *self.0.lock() = None;
    }
}

impl Core {
    /// Whether another group may be made.
    pub(super) async fn check_room_for_group(&self, maker: Option<&Arc<str>>) -> Result<(), Error> {
        let caps = &self.options.caps;
        if !caps.limit_groups(maker) {
            return Ok(());
        }
        let now = self.clock.monotonic();
        let is_fresh = |counted: &Counted| !self.topics.others_write() || now.saturating_sub(counted.at) < CENSUS_AGE;
        if let Some(counted) = self.group_census.0.lock().as_ref().filter(|counted| is_fresh(counted)) {
            return caps.check_groups(&counted.made, maker);
        }
        let made = count(&*self.store).await?;
        let answer = caps.check_groups(&made, maker);
        *self.group_census.0.lock() = Some(Counted { made, at: now });
        answer
    }
}

async fn count(store: &dyn Store) -> Result<Made, Error> {
    let mut made = Made::default();
    let mut after: Option<String> = None;
    loop {
        let page = store.documents(COLLECTION, after.as_deref(), DOCUMENTS_AT_ONCE).await?;
        let Some(last) = page.last() else {
            return Ok(made);
        };
        after = Some(last.key.clone());
        for document in page {
            let group = GroupDocument::parse(&document.key, &document.value)?;
            made.add(group.made_by.map(Arc::from).as_ref());
        }
    }
}
