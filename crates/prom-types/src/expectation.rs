//! What a publisher expects of a partition before its event is stored.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A condition of a publish: if it does not hold, nothing is stored. Written as `{"offset": 12}`, `{"key_offset": 12}` or
/// `{"key_offset": null}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    /// The next offset of the partition.
    Offset(u64),
    /// The offset of the newest event of the key; `null`: the key has no live event, because it was never written or its
    /// newest event is a tombstone.
    KeyOffset(Option<u64>),
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offset(offset) => write!(f, "next offset {offset}"),
            Self::KeyOffset(Some(offset)) => write!(f, "newest event of the key at offset {offset}"),
            Self::KeyOffset(None) => f.write_str("no live event of the key"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expectation_is_one_member_and_nothing_else() {
        let read = |text| serde_json::from_str::<Expectation>(text).ok();
        assert_eq!(read(r#"{"offset":7}"#), Some(Expectation::Offset(7)));
        assert_eq!(read(r#"{"key_offset":18446744073709551615}"#), Some(Expectation::KeyOffset(Some(u64::MAX))));
        assert_eq!(read(r#"{"key_offset":null}"#), Some(Expectation::KeyOffset(None)));
        for wrong in [r#"{"offset":null}"#, r#"{"offset":-1}"#, r#"{"offset":1.0}"#, "{}", "null", "7"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(read(r#"{"offset":1,"key_offset":2}"#), None);
        assert_eq!(serde_json::to_string(&Expectation::KeyOffset(None)).unwrap(), r#"{"key_offset":null}"#);
    }

    #[test]
    fn it_takes_two_words_also_where_it_may_be_missing() {
        assert_eq!(size_of::<Option<Expectation>>(), 16);
    }
}
