//! `[[outbox]]`: rows that a service writes in its own transaction, and that this hub publishes.

use std::fmt;
use std::time::Duration;

use prom_flows::outbox::{LARGEST_BATCH, OnError, is_table_name};

use super::section::ConfigSection;
use super::{mongo, value};

pub const TEXT: &str = r#"# Rows that a service writes in its own transaction and this hub publishes; repeat for each table. Unset: none. See
# docs/guide/outbox.md.
#[[outbox]]
# A unique name. Do not change it: ids that are not UUIDs are combined with it into event ids.
#name = "shop"
# mongo, postgres or sqlite.
#source = "mongo"
# The service's database: mongodb://…, postgres://… or sqlite:FILE. Default for mongo: the url of [mongo].
#url = "mongodb://127.0.0.1:27017/shop?replicaSet=rs0"
# The database in MongoDB. Default: the one in the url.
#database = "shop"
# The table or collection.
#table = "outbox"
# Rows are elements of this array field of the documents in the collection; mongo only. Default: rows are documents.
#field = "outbox"
# Rows per claim, up to ten times as many while the outbox is behind; from 1 to 1000.
#batch = 100
# Other hubs take over from a hub that is silent for this long; between 1s and 10m.
#lease = "30s"
# How often to poll for rows if there is no change stream; more often while rows arrive.
#poll = "250ms"
# Failed tries after which a row is in error.
#max_attempts = 10
# What happens to later rows of the same key when a row is in error: "hold" until it is requeued or dropped, or "skip".
#on_error = "hold"
# How long sent rows are kept. Default: 1h in a MongoDB collection; otherwise they are deleted at once.
#keep_sent = "0s"
"#;

const SOURCES: [(&str, OutboxSourceKind); 3] = [
    ("mongo", OutboxSourceKind::Mongo),
    ("postgres", OutboxSourceKind::Postgres),
    ("sqlite", OutboxSourceKind::Sqlite),
];
const LEASES: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);
const SHORTEST_POLL: Duration = Duration::from_millis(1);

/// Which database has the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxSourceKind {
    Mongo,
    Postgres,
    Sqlite,
}

#[derive(Clone, PartialEq, Eq)]
pub struct DeclaredOutbox {
    pub name: String,
    pub source: OutboxSourceKind,
    pub url: Option<String>,
    pub database: Option<String>,
    pub table: String,
    pub field: Option<String>,
    pub batch: usize,
    pub lease: Duration,
    pub poll: Duration,
    pub max_attempts: u32,
    pub on_error: OnError,
    pub keep_sent: Option<Duration>,
}

/// Without the url: there may be a password in it.
impl fmt::Debug for DeclaredOutbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, source, table, .. } = self;
        f.debug_struct("DeclaredOutbox").field("name", name).field("source", source).field("table", table).finish()
    }
}

impl DeclaredOutbox {
    /// `None` where something is missing or wrong; the section knows what.
    pub fn read(section: &mut ConfigSection<'_>) -> Option<Self> {
        let (mut name, mut source, mut table) = (None, None, None);
        section.set_some("name", &mut name, |value| value::text(value).and_then(outbox_name));
        section.set_some("source", &mut source, value::one_of(&SOURCES));
        let (mut url, mut database, mut field) = (None, None, None);
        section.set_some("url", &mut url, value::text);
        section.set_some("database", &mut database, value::text);
        section.set_some("table", &mut table, value::text);
        section.set_some("field", &mut field, |value| value::text(value).and_then(field_name));
        let (mut batch, mut lease, mut poll) = (100, Duration::from_secs(30), Duration::from_millis(250));
        section.set("batch", &mut batch, value::number(1..=LARGEST_BATCH as u64));
        section.set("lease", &mut lease, |value| match value::duration(value)? {
            lease if LEASES.contains(&lease) => Ok(lease),
            _ => Err("a lease is between 1s and 10m".to_owned()),
        });
        section.set("poll", &mut poll, |value| value::duration(value).map(|poll| poll.max(SHORTEST_POLL)));
        let (mut max_attempts, mut on_error, mut keep_sent) = (10, OnError::Hold, None);
        section.set("max_attempts", &mut max_attempts, value::number(1..=u32::MAX));
        let choices = [("hold", OnError::Hold), ("skip", OnError::Skip)];
        section.set("on_error", &mut on_error, value::one_of(&choices));
        section.set_some("keep_sent", &mut keep_sent, value::duration);
        for key in ["name", "source", "table"] {
            if !section.has(key) {
                section.complain(format!("an [[outbox]] needs `{key}`"));
            }
        }
        let declared = Self {
            name: name?,
            source: source?,
            url,
            database,
            table: table?,
            field,
            batch: usize::try_from(batch).unwrap_or(LARGEST_BATCH),
            lease,
            poll,
            max_attempts,
            on_error,
            keep_sent,
        };
        declared.check(section);
        Some(declared)
    }

    /// What does not fit together. Never repeats a url.
    fn check(&self, section: &ConfigSection<'_>) {
        match (self.source, self.url.as_deref()) {
            (OutboxSourceKind::Mongo, Some(url)) => {
                if let Err(reason) = mongo::parse_url(url) {
                    section.complain_at("url", format!("`url`: {reason}"));
                }
            }
            (OutboxSourceKind::Mongo, None) => {}
            (OutboxSourceKind::Postgres, Some(url)) if is_postgres(url) => {}
            (OutboxSourceKind::Sqlite, Some(url)) if url.starts_with("sqlite:") => {}
            (OutboxSourceKind::Postgres, Some(_)) => {
                section.complain_at("url", "`url`: a PostgreSQL address begins with postgres:// or postgresql://");
            }
            (OutboxSourceKind::Sqlite, Some(_)) => {
                section.complain_at("url", "`url`: a SQLite address is sqlite: and the path of the file");
            }
            (_, None) => section.complain("this [[outbox]] needs `url`; only that of mongo has a default"),
        }
        let is_mongo = self.source == OutboxSourceKind::Mongo;
        if !is_mongo && !is_table_name(&self.table) {
            section.complain_at("table", "`table`: letters, digits and _, also with the name of a schema before it");
        }
        for (key, is_set) in [("database", self.database.is_some()), ("field", self.field.is_some())] {
            if is_set && !is_mongo {
                section.complain_at(key, format!("`{key}` is for source = \"mongo\"; remove it"));
            }
        }
        if self.field.is_some() && self.keep_sent.is_some_and(|keep| !keep.is_zero()) {
            section.complain_at("keep_sent", "`keep_sent`: rows in a `field` are pulled when they are sent; remove it");
        }
    }
}

fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

fn outbox_name(name: String) -> Result<String, String> {
    let is_right = name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if is_right { Ok(name) } else { Err("a name is up to 64 letters, digits, `.`, `_` and `-`".to_owned()) }
}

fn field_name(name: String) -> Result<String, String> {
    if name.contains(['$', '.']) { Err("a field is named without `.` and `$`".to_owned()) } else { Ok(name) }
}
