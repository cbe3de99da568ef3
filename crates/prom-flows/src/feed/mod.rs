//! Change feeds: what changes in a MongoDB collection becomes events of a topic.
//!
//! ```text
//!   change stream ─▶ read ahead ─▶ filter, map ─▶ one unit of work ─▶ topic
//!        ▲                                        events + position
//!        └──────────── the position, after every failure ◀──┘
//! ```
//!
//! Promises:
//!
//! - Order is the oplog's. Nothing is lost and nothing doubled: events and the position behind them are one commit, and the id of an
//!   event follows from the change's resume token.
//! - A feed never begins at another place by itself. A position that MongoDB no longer knows stops the feed, or has the collection
//!   copied again behind a `GAP`, as configured.
//! - A delete is a tombstone, and nothing else is: an update whose document is gone is published as what was updated.
//! - A change that is too large, or that the topic refuses, follows the feed's policy. A feed that fails stops alone, tells why, and
//!   tries again after a wait that doubles.
//! - Of the hubs on one store, one reads. The position has a revision, so a hub that was overtaken commits nothing, and an operator
//!   who moves the feed overtakes the hub that reads.

mod options;
mod route;

mod change;
mod convert;
mod extended_json;
mod fit;
mod gap;
mod programs;

mod copy;
mod fault;
mod position;
mod read;
mod stream;
mod write;

mod act;
mod error;
mod run;
mod status;

pub mod limits;

pub use copy::CopyProgress;
pub use error::FeedUnfit;
pub use gap::{GapCause, PendingGap};
pub use options::{BeforeImage, FeedOptions, FeedSource, FullDocument, NumberForm, OnLostToken, OnUnfit, Oversize};
pub use position::{ClusterTime, FEED_POSITIONS, FeedPosition, StoppedFeed, StreamPlace};
pub use route::FeedRoute;
pub use run::{FeedHandle, check, start};
