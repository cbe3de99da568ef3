//! One change as MongoDB tells of it, in parts that are still BSON.

use mongodb::bson::{RawBsonRef, RawDocument, Timestamp};
use prom_types::EpochMs;

use super::extended_json::UnreadableBson;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeOp<'a> {
    Insert,
    Update,
    Replace,
    Delete,
    /// A document of a copy: nothing happened to it.
    Copied,
    /// The collection was dropped.
    Drop,
    /// The collection has another name now.
    Rename,
    DropDatabase,
    /// The stream ends here; it goes on behind.
    Invalidate,
    /// Something that changes no document.
    Other(&'a str),
}

impl<'a> ChangeOp<'a> {
    fn read(text: &'a str) -> Self {
        match text {
            "insert" => Self::Insert,
            "update" => Self::Update,
            "replace" => Self::Replace,
            "delete" => Self::Delete,
            "drop" => Self::Drop,
            "rename" => Self::Rename,
            "dropDatabase" => Self::DropDatabase,
            "invalidate" => Self::Invalidate,
            other => Self::Other(other),
        }
    }

    /// As the header and filters have it.
    pub fn as_str(self) -> &'a str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Copied => "snapshot",
            Self::Drop => "drop",
            Self::Rename => "rename",
            Self::DropDatabase => "dropDatabase",
            Self::Invalidate => "invalidate",
            Self::Other(other) => other,
        }
    }
}

/// A change. What is absent was not sent.
#[derive(Debug, Clone)]
pub(crate) struct Change<'a> {
    pub op: ChangeOp<'a>,
    pub token: Option<&'a RawDocument>,
    pub database: &'a str,
    pub collection: &'a str,
    /// The new name, of a rename.
    pub renamed_to: Option<&'a str>,
    /// The `_id` of the document.
    pub id: Option<RawBsonRef<'a>>,
    pub document: Option<&'a RawDocument>,
    pub before: Option<&'a RawDocument>,
    pub update: Option<&'a RawDocument>,
    pub cluster_time: Option<Timestamp>,
    pub wall_ms: Option<EpochMs>,
    /// What the server left out of it, if it would not have fitted into an answer.
    pub cut: CutParts,
}

/// How large the parts were that were left on the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CutParts {
    pub document: Option<i64>,
    pub before: Option<i64>,
    pub update: Option<i64>,
}

impl CutParts {
    pub fn is_cut(&self) -> bool {
        *self != Self::default()
    }
}

impl<'a> Change<'a> {
    /// Reads each part once, in the order in which they come.
    pub fn read(raw: &'a RawDocument) -> Result<Self, UnreadableBson> {
        let mut change = Self::of(ChangeOp::Other(""));
        for member in raw.iter() {
            let (name, value) = member?;
            match (name.as_str(), value) {
                ("_id", RawBsonRef::Document(token)) => change.token = Some(token),
                ("operationType", RawBsonRef::String(op)) => change.op = ChangeOp::read(op),
                ("clusterTime", RawBsonRef::Timestamp(time)) => change.cluster_time = Some(time),
                ("wallTime", RawBsonRef::DateTime(time)) => change.wall_ms = Some(time.timestamp_millis()),
                ("fullDocument", RawBsonRef::Document(document)) => change.document = Some(document),
                ("fullDocumentBeforeChange", RawBsonRef::Document(document)) => change.before = Some(document),
                ("updateDescription", RawBsonRef::Document(update)) => change.update = Some(update),
                ("ns", RawBsonRef::Document(ns)) => (change.database, change.collection) = namespace(ns)?,
                ("to", RawBsonRef::Document(ns)) => change.renamed_to = Some(namespace(ns)?.1),
                ("documentKey", RawBsonRef::Document(key)) => change.id = key.get("_id")?,
                (CUT, RawBsonRef::Document(cut)) => change.cut = read_cut(cut)?,
                _ => {}
            }
        }
        Ok(change)
    }

    /// A document of a copy.
    pub fn copied(database: &'a str, collection: &'a str, document: &'a RawDocument, at: Timestamp) -> Self {
        Self {
            database,
            collection,
            id: document.get("_id").ok().flatten(),
            document: Some(document),
            cluster_time: Some(at),
            ..Self::of(ChangeOp::Copied)
        }
    }

    /// When it was committed, in milliseconds as far as MongoDB tells.
    pub fn at_ms(&self) -> Option<EpochMs> {
        self.wall_ms.or_else(|| self.cluster_time.map(|time| EpochMs::from(time.time) * 1000))
    }

    fn of(op: ChangeOp<'a>) -> Self {
        Self {
            op,
            token: None,
            database: "",
            collection: "",
            renamed_to: None,
            id: None,
            document: None,
            before: None,
            update: None,
            cluster_time: None,
            wall_ms: None,
            cut: CutParts::default(),
        }
    }
}

/// The name under which [`super::stream`] has the server say what it cut.
pub(crate) const CUT: &str = "promCut";

fn namespace(ns: &RawDocument) -> Result<(&str, &str), UnreadableBson> {
    let part = |name| Ok::<_, UnreadableBson>(ns.get(name)?.and_then(RawBsonRef::as_str).unwrap_or_default());
    Ok((part("db")?, part("coll")?))
}

fn read_cut(cut: &RawDocument) -> Result<CutParts, UnreadableBson> {
    let size = |name| {
        let value = cut.get(name)?;
        Ok::<_, UnreadableBson>(value.and_then(|size| size.as_i64().or_else(|| size.as_i32().map(i64::from))))
    };
    Ok(CutParts { document: size("document")?, before: size("before")?, update: size("update")? })
}

/// `SECONDS.INCREMENT`, as the header has it.
pub(crate) fn told_time(time: Timestamp) -> String {
    format!("{}.{}", time.time, time.increment)
}
