//! A durable event bus as a library: open a directory, publish, subscribe, ack.
//!
//! ```
//! use promethean::{Bus, BusOptions, EmbeddedStore, Position, json};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let directory = directory.path();
//! let bus = Bus::start(EmbeddedStore::open(directory).await?, BusOptions::default()).await?;
//! bus.publish("orders.placed", json!({"id": 7})).key("7").await?;
//!
//! let mut orders = bus.subscribe("orders.*", "billing").from(Position::Earliest).start().await?;
//! if let Some(delivery) = orders.next().await {
//!     assert_eq!(delivery.payload::<serde_json::Value>()?["id"], 7);
//!     delivery.ack().await?;
//! }
//! bus.shutdown().await?;
//! # Ok(())
//! # }
//! ```
//!
//! - [`Bus`] publishes, subscribes and looks after groups and topics. A receipt and the answer of an
//!   ack mean: stored, as durably as the store says.
//! - [`EmbeddedStore`] keeps everything in a directory; [`MemoryStore`] keeps it in memory, for tests.
//!
//! What to find where:
//!
//! | to | see |
//! | --- | --- |
//! | publish | [`Bus::publish`], [`Bus::publish_batch`], [`Publish`], [`Receipt`] |
//! | store events, settlements and documents together | [`Bus::unit_of_work`], [`UnitOfWork`] |
//! | subscribe with a group | [`Bus::subscribe`], [`Subscribe`], [`Subscription`], [`GroupOptions`] |
//! | give each partition one owner | [`Subscribe::mode`], [`Mode::Partitioned`], [`Bus::partition_owners`] |
//! | settle | [`Delivery::ack`], [`Delivery::nack`], [`Delivery::modack`], [`ack_all`] |
//! | follow without a group | [`Bus::tail`], [`Tail`] |
//! | read | [`Bus::read`], [`Bus::read_topic`], [`Bus::latest_by_key`], [`StoredEvent`] |
//! | see where a group stands | [`Bus::cursor`], [`Bus::lag`], [`Bus::why`] |
//! | move a group, or get it past one event | [`Bus::preview_cursor`], [`Bus::set_cursor`], [`Bus::skip`] |
//! | make and change topics | [`Bus::create_topic`], [`TopicSettings`], [`Retention`], [`Compaction`] |
//! | know what went wrong | [`Error`], [`ErrorKind`], [`Gap`] |
//!
//! The guide in `docs/guide/library.md` walks through all of it. This crate re-exports; nothing else
//! lives here.

#![warn(missing_docs)]

pub use prom_engine::{
    Arrivals, AssignmentChange, Backoff, BeyondEnd, Bus, BusOptions, CommittingUnit, Compaction, CursorInfo,
    CursorMove, Delivery, Error, ErrorKind, EventPlace, Expiry, Gap, GapReason, GroupChange, GroupInfo, GroupOptions,
    GroupSubscription, Item, Lag, MemberStatus, Mode, NewTopics, OptionDifference, Order, Page, PartitionInfo,
    PartitionLag, PartitionOwner, PartitionOwners, PartitionWhy, Position, Publish, Publishing, Retained, Retention,
    SkippedEvent, StoredEvent, Subscribe, Subscription, SubscriptionControl, Tail, TailOptions, Ticket, TopicInfo,
    TopicOffsets, TopicPage, TopicSettings, UnitOfWork, Why, ack_all,
};
pub use prom_store::{
    Bounds, Clock, CursorChange, CursorName, DocumentWrite, Expect, LogName, MemoryStore, Outcome, ReadLimit, Store,
    StoreError, SystemClock,
};
pub use prom_store_embedded::{EmbeddedOptions, EmbeddedStore, Sizes, Sync};
pub use prom_types::{
    Durability, EpochMs, Event, EventId, GroupName, Headers, Invalid, Json, NewEvent, Offset, Receipt, TopicName,
    TopicPattern,
};
pub use serde_json::json;

/// Compiles the code of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/library.md")]
struct Guide;
