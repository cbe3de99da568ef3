//! Projectors: the events of a topic become documents.
//!
//! ```text
//!   changelog        topic ─▶ key, map, version ─▶ the newest event of each key ─▶ one document for each key
//!   transactional    topic ─▶ edits ─▶ documents of several collections, each event exactly once
//!   states           topic ─▶ key, map ─▶ another topic, and a last state for what falls silent
//! ```
//!
//! | target | how an event counts once |
//! | --- | --- |
//! | the hub's own store, or a topic | documents or events, and the cursor, are one commit |
//! | MongoDB, changelog | documents first, then the cursor; the version of a document refuses what is older or came before |
//! | MongoDB, transactional | documents and the place in the topic are one transaction |
//!
//! Promises: of the hubs that share a store one runs a projector at a time, and one that is late changes nothing. What cannot be
//! projected goes to the dead letters; what a database cannot take now is tried again, and shown. Documents can be built anew
//! beside those that are read.

mod change;
mod edit;
mod event_view;
mod program;
mod settings;

mod build;
mod desk;
mod error;
mod flow;
mod limits;
mod mongo;
mod open;
mod project;
mod record;
mod stages;
mod store_target;
mod target;
mod topic_target;
mod work;

pub use change::{KeyProjection, VersionNumber, VersionRule};
pub use edit::{DocumentEdit, EditAction, FieldEdit};
pub use event_view::EventView;
pub use flow::Projector;
pub use program::{ChangelogProjection, JqChangelog, JqEdits, Projection, TransactionalProjection};
pub use settings::{LastState, ProjectedCollection, ProjectorSettings, ProjectorTarget, Silence};
