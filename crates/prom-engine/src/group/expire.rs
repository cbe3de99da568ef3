//! Groups without a subscriber are deleted after the time they asked for. One that cannot be read or
//! deleted keeps no other from expiring.

use std::sync::Arc;

use prom_store::{Document, Expect};
use prom_types::{EpochMs, GroupName};

use super::{COLLECTION, GroupDocument};
use crate::bus::Core;
use crate::limits::DOCUMENTS_AT_ONCE;
use crate::maintain::PassFailures;
use crate::{Bus, Error};

impl Bus {
    /// Deletes expired groups now; returns their names. [`Error::Incomplete`] names the groups for
    /// which it failed; the others were processed.
    pub async fn expire_groups_now(&self) -> Result<Vec<GroupName>, Error> {
        expire(self.core()).await
    }
}

pub(crate) async fn expire(core: &Arc<Core>) -> Result<Vec<GroupName>, Error> {
    let mut expired = Vec::new();
    let mut failures = PassFailures::of("expiry");
    let mut after: Option<String> = None;
    loop {
        let page = core.store.documents(COLLECTION, after.as_deref(), DOCUMENTS_AT_ONCE).await?;
        let Some(last) = page.last() else {
            return failures.unless_any(expired);
        };
        after = Some(last.key.clone());
        for document in page {
            match expire_one(core, &document).await {
                Ok(one) => expired.extend(one),
                Err(error) => failures.note(format_args!("group {}", document.key), error)?,
            }
        }
    }
}

/// The name of the group if it has expired.
async fn expire_one(core: &Arc<Core>, document: &Document) -> Result<Option<GroupName>, Error> {
    let group = GroupDocument::parse(&document.key, &document.value)?;
    let Some(expire_after_ms) = group.expire_after_ms() else {
        return Ok(None);
    };
    let name = GroupName::parse(&document.key)?;
    let is_used = match core.not_elsewhere(&name).await {
        Ok(()) => core.is_subscribed(&name),
        // Hubs keep only what is in use.
        Err(Error::ServedElsewhere { .. }) => true,
        Err(error) => return Err(error),
    };
    if is_used {
        core.touch(&name, group, document.revision).await?;
        return Ok(None);
    }
    let unused = core.clock.now_ms().saturating_sub(group.last_used_ts);
    if unused < EpochMs::try_from(expire_after_ms).unwrap_or(EpochMs::MAX) {
        return Ok(None);
    }
    core.delete_group(&name, Expect::Revision(document.revision), None).await?;
    tracing::info!(group = %name, "the group was not used and has expired");
    Ok(Some(name))
}

impl Core {
    fn is_subscribed(&self, name: &GroupName) -> bool {
        let here = self.followers.all();
        here.iter().any(|live| live.group.name == *name && !live.outlet.is_ended())
    }

    /// Writes down that the group is in use.
    async fn touch(self: &Arc<Self>, name: &GroupName, mut group: GroupDocument, revision: u64) -> Result<(), Error> {
        group.last_used_ts = group.last_used_ts.max(self.clock.now_ms());
        let write = group.write(name, Expect::Revision(revision))?;
        match self.write(write).await {
            Ok(_) => Ok(()),
            // A new subscriber has written the same at this moment.
            Err(error) if error.is_conflict() => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
