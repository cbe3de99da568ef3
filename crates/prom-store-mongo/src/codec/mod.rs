//! Events as BSON that people can query, and back to the exact bytes that were published.
//!
//! ```text
//!   record ──▶ event   JSON text becomes BSON in one pass, which also tells whether the text can be reproduced
//!   event  ──▶ record  BSON is written as text; if `raw` is present, that is the text
//! ```

mod batch;
mod element;
mod event;
mod failures;
mod from_json;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod promises;
mod to_json;
mod value;

pub use batch::{BatchHead, BatchPlan, StoredBatch};
pub use element::binary_id;
pub use event::event_document;
pub use failures::{read_failures, read_ranges, whole, write_failures};
pub use value::{DocumentValue, document_value};
