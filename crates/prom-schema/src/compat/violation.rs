//! What a comparison reports.

use serde_json::Value;

use super::rule::CompatRule;

/// Whose documents are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The new schema refuses documents of the old one.
    Backward,
    /// The old schema refuses documents of the new one.
    Forward,
}

impl Direction {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Backward => "backward",
            Self::Forward => "forward",
        }
    }
}

/// One keyword that refuses what the other schema accepts.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// JSON pointer to the keyword in the schema that refuses: the new one for `backward`, the old one for `forward`.
    pub pointer: String,
    /// Where the schema that accepts speaks about the same part of the document, if it does.
    pub old_pointer: Option<String>,
    pub rule: CompatRule,
    pub message: String,
    pub fix: String,
    pub direction: Direction,
    /// A document that one schema accepts and the other refuses, tried out on both.
    pub example: Option<Value>,
    /// The version that it was compared with. Filled in by [`super::check_mode`].
    pub against_version: Option<u64>,
}
