//! What an outbox is configured with.

use std::time::Duration;

/// One outbox and how it is drained.
#[derive(Clone)]
pub struct OutboxOptions {
    /// Unique among the outboxes of the hub.
    pub name: String,
    /// Where its rows are.
    pub place: OutboxPlace,
    /// Rows of one claim; more while many wait.
    pub batch: usize,
    /// Another hub takes over from one that is silent for this long.
    pub lease: Duration,
    /// How often a drainer that is not woken looks for rows.
    pub poll: Duration,
    /// Failed tries after which a row is in error.
    pub max_attempts: u32,
    /// What becomes of the rows behind one in error.
    pub on_error: OnError,
    /// How long sent rows are kept; zero removes them at once.
    pub keep_sent: Duration,
}

/// Where the rows of an outbox are. Addresses hold passwords, so there is no `Debug`.
#[derive(Clone)]
pub enum OutboxPlace {
    /// Documents of a collection.
    Mongo {
        /// Of the replica set.
        url: String,
        /// Unset: the one that the url names.
        database: Option<String>,
        /// Of the rows, or of the documents that contain them.
        collection: String,
        /// Rows are the elements of this array field of business documents.
        field: Option<String>,
    },
    /// Rows of a table.
    Postgres {
        /// Of the database.
        url: String,
        /// Its name, also with its schema: `shop.outbox`.
        table: String,
    },
    /// Rows of a table.
    Sqlite {
        /// `sqlite:` and the path of the file.
        url: String,
        /// Its name.
        table: String,
    },
}

/// What becomes of the rows behind one in error, of the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// They wait until it is requeued or dropped.
    #[default]
    Hold,
    /// They go on.
    Skip,
}

impl OutboxPlace {
    /// How long sent rows are kept where nothing else is configured. MongoDB removes them by itself; in a table each is
    /// one more dead row, so they go at once.
    pub fn usual_keep_sent(&self) -> Duration {
        match self {
            Self::Mongo { field: None, .. } => Duration::from_secs(60 * 60),
            Self::Mongo { .. } | Self::Postgres { .. } | Self::Sqlite { .. } => Duration::ZERO,
        }
    }
}

/// Whether a text can be a table's name without quotes, also with its schema.
pub fn is_table_name(text: &str) -> bool {
    let is_part = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && part.bytes().next().is_some_and(|first| !first.is_ascii_digit())
            && part.len() <= 50
    };
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() <= 2 && parts.into_iter().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_names_need_no_quotes() {
        for name in ["outbox", "shop.outbox", "_out_2"] {
            assert!(is_table_name(name), "{name}");
        }
        for name in ["", "a b", "1a", "a;drop table b", "a.b.c", "a.", "\"a\""] {
            assert!(!is_table_name(name), "{name}");
        }
    }
}
