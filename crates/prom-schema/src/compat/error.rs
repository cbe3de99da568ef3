//! Why schemas could not be compared. Each variant says what the author of the schema can do.

/// The schema itself is at fault; nothing was compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    #[error("the schema has {bytes} bytes, at most {max} are read")]
    TooLarge { bytes: usize, max: usize },
    #[error("the schema is nested more than {max} deep at {pointer}")]
    TooDeep { pointer: String, max: usize },
    #[error("the schema has more than {max} subschemas")]
    TooManyNodes { max: usize },
    #[error("{pointer}: {message}")]
    Invalid { pointer: String, message: String },
    #[error("`{uri}` is not a draft that is read: use 2020-12, 2019-09 or draft-07")]
    UnknownDraft { uri: String },
    #[error("{pointer}: remote references are not fetched: `{reference}`; put the definition below `$defs`")]
    RemoteReference { pointer: String, reference: String },
    #[error("{pointer}: the reference `{reference}` points to nothing in this schema")]
    UnknownReference { pointer: String, reference: String },
    #[error("{pointer}: this reference leads back to itself without going into a property or an item")]
    EndlessReference { pointer: String },
    #[error("{pointer}: the regular expression has {bytes} bytes, at most {max} are read")]
    PatternTooLarge { pointer: String, bytes: usize, max: usize },
    #[error("{pointer}: `{pattern}` is no regular expression")]
    Pattern { pointer: String, pattern: String },
    #[error("{pointer}: a number with more than {max} digits")]
    NumberTooLong { pointer: String, max: u32 },
    #[error("the comparison could not be run: no thread, or a fault of ours; try again, and report it")]
    NotCompared,
}
