//! Long work over the bus. Each job goes step by step, so that its caller can show progress and stop it; what must survive
//! a crash is committed with the work itself.
//!
//! | job | what it does |
//! | --- | --- |
//! | [`Prove`] | runs stored events through upcasters and a candidate schema, and counts what would break |
//! | [`Cutover`] | brings a topic's history to its latest version, in another topic or as documents, once and only once |
//! | [`ReplayInto`] | replays a topic's events through a program into another topic, once and only once |
//! | [`LetterOffice`] | counts, finds, replays and purges dead letters, and knows what became of them |
//! | [`SnapshotBuild`] | writes the state of a topic, one event for each live key, to `<topic>.snapshot` |
//! | [`TimeTravel`] | reads a topic as it was at a time |
//!
//! [`Collection`] is what cutovers fill: documents that are read over HTTP.
//!
//! [`Indexes`] finds events by the values of declared expressions.
//!
//! [`Tracer`] draws what led to an event and what it led to.
//!
//! [`Flow`] is what the hub shows of a flow from or into a database; the flows themselves know drivers and live in `prom-flows`.
//!
//! What jobs are made of: [`Fold`] keeps documents in step with a topic, [`Keeper`] does work in the background.

#![warn(missing_docs)]

mod collection;
mod cutover;
mod index;
mod letters;
mod prove;
mod replay_into;
mod trace;

mod snapshot;
mod time_travel;

mod flow;
mod fold;
mod keeper;
mod key_index;
mod newest;

mod error;
mod limits;
mod source;

pub use collection::{
    Collection, CollectionForm, CollectionInfo, CollectionName, CollectionPage, CollectionStep, DocumentField,
    FieldFilter, ListFrom,
};
pub use cutover::{Cutover, CutoverPlace, CutoverPlan, CutoverProgress, CutoverTarget, UnfitEvent};
pub use error::JobError;
pub use flow::{
    Flow, FlowAction, FlowBoard, FlowCounts, FlowError, FlowFailure, FlowKind, FlowOutcome, FlowRow, FlowRowQuery,
    FlowSeek, FlowStage, FlowState, FlowStatus,
};
pub use fold::{Fold, FoldInto, GoneEvents};
pub use index::{IndexState, IndexedPage, IndexedPlaces, Indexes, PlacesAsked};
pub use keeper::{Keeper, KeptState, KeptWork, Wake};
pub use key_index::index_keys;
pub use letters::{
    EDITED_HEADER, FoundLetter, LETTER_HEADER, LetterErrors, LetterFilter, LetterJob, LetterJobState, LetterOffice,
    LetterOrder, LetterPage, LetterReplay, LetterStanding, LetterSummary, LetterTotals, LetterTrial, LetterWork,
    REPLAYS_HEADER, ReplayOutcome, TriedLetter,
};
pub use limits::{INDEX_EVERY, TRACE_EVERY};
pub use newest::KeyState;
pub use prove::{Prove, ProveFailure, ProveProgress};
pub use replay_into::{ReplayInto, ReplayPlan, ReplayProgress};
pub use snapshot::{
    Snapshot, SnapshotBuild, SnapshotPartition, SnapshotStep, keep_snapshots, snapshot_topic, snapshots,
};
pub use time_travel::{ChangePage, KeyChange, KeyPage, TimeTravel};
pub use trace::{Trace, TraceDelivery, TraceEvent, TraceLetter, TraceNode, TracePlace, TraceRights, Tracer};
