//! Who owns a group, as it is stored.

use hashbrown::HashMap;
use prom_store::{DocumentWrite, Expect, Store};
use prom_types::GroupName;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::limits::DOCUMENTS_AT_ONCE;

/// Where owners are kept, one document per group.
const COLLECTION: &str = "owners";

/// It stays when the group is given up, without an owner: so revisions never start over, and a late write
/// cannot match what another hub wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OwnerDocument {
    /// Empty where there is none.
    pub hub: String,
    pub url: String,
    /// How many times the group has changed hands.
    pub generation: u64,
}

/// The owner as it was read, with the revision for writing it back.
pub(super) async fn read(store: &dyn Store, group: &GroupName) -> Result<Option<(OwnerDocument, u64)>, Error> {
    let Some(document) = store.document(COLLECTION, group).await? else {
        return Ok(None);
    };
    match serde_json::from_slice(&document.value) {
        Ok(owner) => Ok(Some((owner, document.revision))),
        Err(error) => Err(unreadable(group, &error)),
    }
}

/// Where the owner of each group is reached, by the name of the group.
pub(super) async fn all(store: &dyn Store) -> Result<HashMap<String, String>, Error> {
    let mut owners = HashMap::new();
    let mut after: Option<String> = None;
    loop {
        let page = store.documents(COLLECTION, after.as_deref(), DOCUMENTS_AT_ONCE).await?;
        let Some(last) = page.last() else {
            return Ok(owners);
        };
        after = Some(last.key.clone());
        for document in page {
            // One that cannot be read is told when its group is asked for.
            if let Ok(owner) = serde_json::from_slice::<OwnerDocument>(&document.value)
                && !owner.hub.is_empty()
            {
                owners.insert(document.key, owner.url);
            }
        }
    }
}

impl OwnerDocument {
    pub fn unowned(generation: u64) -> Self {
        Self { hub: String::new(), url: String::new(), generation }
    }

    pub fn write(&self, group: &GroupName, expect: Expect) -> Result<DocumentWrite, Error> {
        let value = serde_json::to_vec(self).map_err(|error| unreadable(group, &error))?;
        Ok(DocumentWrite::put(COLLECTION, group, value).expecting(expect))
    }
}

fn unreadable(group: &GroupName, error: &serde_json::Error) -> Error {
    Error::Document { collection: COLLECTION, key: group.to_string(), reason: error.to_string() }
}
