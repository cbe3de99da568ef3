//! Compatibility of JSON Schemas, decided by meaning: is every document that is valid under one schema valid under the
//! other?
//!
//! ```text
//! old, new ─▶ read ─▶ nodes ─▶ search for a document that old accepts and new refuses
//!                                ├── none can exist           compatible
//!                                ├── this one, tried out      a violation with its pointer and this example
//!                                └── budget spent, too hard   `undecided`, which refuses unless settings say otherwise
//! ```
//!
//! The search drops what it cannot represent only in the direction that makes a violation more likely, so "compatible"
//! is a proof. Documents that it finds are tried out by an evaluator of our own and by the `jsonschema` crate, so a
//! violation with an example is a fact. `docs/decisions/0022-schemas-are-compared-by-searching-for-a-document.md` says
//! why.

mod check;
mod example;
mod mode;
mod rule;
mod settings;
mod violation;

mod explain;
mod generate;
mod oracle;
mod words;

mod search;

mod declared;
mod evaluate;

mod read;

mod equal;
mod format;
mod meter;
mod node;
mod number;
mod pattern;

mod error;

pub use check::{ModeCheck, check, check_mode};
pub use error::CompareError;
pub use example::RuleExample;
pub(crate) use number::Exact;
pub use rule::CompatRule;
pub use settings::{Budget, Settings};
pub use violation::{Direction, Violation};
