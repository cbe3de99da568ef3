//! What is wrong with a schema, and with a payload.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a schema cannot be used. Nothing was changed; put the named place right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name variants and fields")]
pub enum SchemaError {
    #[error("the schema is not JSON: {reason}")]
    NotJson { reason: String },
    #[error("the schema's {what} is {size}; at most {limit} is allowed")]
    TooLarge { what: &'static str, size: usize, limit: usize },
    #[error("the schema is not valid{}: {reason}", at(pointer))]
    Invalid { pointer: String, reason: String },
    /// Put the other schema into the registry and name it in `references`, or copy it below `$defs`.
    #[error(
        "the schema refers to {reference}, which is not in it; nothing is fetched: name it in `references` (--reference of `prom schema`), or put it below `$defs`"
    )]
    Elsewhere { reference: String },
    #[error(
        "judging a document could take too long: {} is judged by {width} parts of the schema or more; put constants into one `enum` \
         instead of many branches, and let branches that refer to themselves not share property names",
        judged(pointer)
    )]
    TooCostly { pointer: String, width: usize },
}

/// Nothing where the whole schema is meant.
fn at(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" at {pointer}") }
}

fn judged(pointer: &str) -> &str {
    if pointer.is_empty() { "one value" } else { pointer }
}

/// Why a payload does not fit a schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Where in the payload, as a JSON pointer; empty for the whole.
    pub pointer: String,
    /// The keyword that refuses it, such as `required`.
    pub rule: String,
    /// Where in the schema.
    pub schema_pointer: String,
    /// The value at the pointer, shortened.
    pub value: String,
    /// One sentence for people.
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "the payload" } else { &self.pointer };
        write!(f, "{place}: {} (rule {})", self.message, self.rule)
    }
}
