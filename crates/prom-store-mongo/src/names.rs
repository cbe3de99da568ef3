//! The collections of a store.

use mongodb::bson::{Document, RawDocumentBuf};
use mongodb::{Collection, Database};

pub const BATCHES: &str = "event_batches";
pub const EVENTS: &str = "events";
pub const LOGS: &str = "logs";
pub const LATEST: &str = "latest";
pub const CURSORS: &str = "cursors";
pub const LEASES: &str = "leases";

/// Names that collections of documents cannot have.
pub const OWN: [&str; 6] = [BATCHES, EVENTS, LOGS, LATEST, CURSORS, LEASES];

/// Handles to the store's collections.
#[derive(Clone)]
pub struct Collections {
    pub database: Database,
    pub prefix: String,
    pub batches: Collection<RawDocumentBuf>,
    pub logs: Collection<Document>,
    pub latest: Collection<RawDocumentBuf>,
    pub cursors: Collection<RawDocumentBuf>,
    pub leases: Collection<Document>,
}

impl Collections {
    pub fn new(database: Database, prefix: &str) -> Self {
        let name = |own: &str| format!("{prefix}{own}");
        Self {
            batches: database.collection(&name(BATCHES)),
            logs: database.collection(&name(LOGS)),
            latest: database.collection(&name(LATEST)),
            cursors: database.collection(&name(CURSORS)),
            leases: database.collection(&name(LEASES)),
            prefix: prefix.to_owned(),
            database,
        }
    }

    pub fn name(&self, own: &str) -> String {
        format!("{}{own}", self.prefix)
    }

    /// The collection that holds the documents of a named collection.
    pub fn documents(&self, collection: &str) -> Collection<RawDocumentBuf> {
        self.database.collection(&self.documents_name(collection))
    }

    pub fn documents_name(&self, collection: &str) -> String {
        format!("{}{}", self.prefix, document_collection(collection))
    }
}

/// A name that the server accepts and that clashes with none of ours.
fn document_collection(collection: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut name = String::new();
    for c in collection.chars() {
        if is_plain(c) { name.push(c) } else { name.push_str(&format!("%{:x}", u32::from(c))) }
    }
    let is_taken = OWN.contains(&name.as_str()) || name.starts_with("system.") || name.starts_with('.');
    if is_taken || name.is_empty() {
        name.insert_str(0, "documents_");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collection_of_documents_never_clashes_with_one_of_the_store() {
        let cases = [
            ("groups", "groups"),
            ("cursors", "documents_cursors"),
            ("system.users", "documents_system.users"),
            ("", "documents_"),
            ("a$b c", "a%24b%20c"),
        ];
        for (asked, expected) in cases {
            assert_eq!(document_collection(asked), expected);
        }
    }
}
