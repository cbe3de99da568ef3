//! JSON Schemas of topics: versions, what they mean to each other, validation, upcasting.
//!
//! Knows no engine, no store and no network. A schema comes from untrusted authors, so everything here is bounded by
//! [`limits`], and references to other documents are refused instead of fetched.
//!
//! ```text
//!   text ──▶ document (checked, named by its digest) ──▶ validator ──▶ is this payload of this version?
//!                     └──▶ compat: does the new version accept what the old one did?
//!                     └──▶ codegen: types and validators for other programs
//!   payload of version 1 ──▶ upcast 1→2 ──▶ upcast 2→3 ──▶ validator of 3
//! ```

pub mod codegen;
pub mod compat;
mod settings;
mod topic;

mod bundle;
mod cost;
mod cost_names;
mod document;
mod draft;
mod embed;
mod folder;
mod in_order;
mod multiple;
mod references;
mod upcast;
mod uri;
mod validator;

mod error;
pub mod limits;

pub use bundle::bundle;
pub use document::{Reference, SchemaDocument};
pub use embed::embed;
pub use error::{Refusal, SchemaError};
pub use folder::{FolderError, FolderTopic, read_folder, read_topic_folder};
pub use in_order::in_order;
pub use settings::{Admit, Compat, CompatPolicy, Formats, SchemaSettings, SettingsChange, Undecided, UnknownWord};
pub use topic::{TopicSchemas, VersionEntry};
pub use upcast::{UpcastError, UpcastFn, UpcastPayload, Upcaster, Upcasters};
pub use validator::Validator;
