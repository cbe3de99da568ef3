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
//! | give a topic a schema, and read every version as the latest | [`Bus::register_schema`], [`SchemaCandidate`], [`Subscribe::normalize`], [`TailOptions::normalize`] |
//! | know what went wrong | [`Error`], [`ErrorKind`], [`Gap`] |
//!
//! # Schemas
//!
//! A topic may have a schema of several versions. What is published is judged by them and stamped with its version;
//! upcasters bring old events to the latest version when they are read. Here one is a Rust function:
//!
//! ```
//! use std::sync::Arc;
//! use promethean::{
//!     Bus, BusOptions, Compat, MemoryStore, Position, SchemaCandidate, SchemaDocument, SystemClock, TopicName, UpcastFn, json,
//! };
//! use serde_json::Value;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rename: UpcastFn = Arc::new(|mut payload: Value| {
//!     let members = payload.as_object_mut().ok_or("not an object")?;
//!     let memory = members.remove("mem_mb").ok_or("no mem_mb")?;
//!     members.insert("mem_mib".to_owned(), memory);
//!     Ok(payload)
//! });
//! let upcasters = vec![(TopicName::parse("heartbeat.received")?, 1, rename)];
//! let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
//! let bus = Bus::start(store, BusOptions { upcasters, ..BusOptions::default() }).await?;
//!
//! let version = |memory: &str| {
//!     let schema = json!({"type": "object", "properties": {"pid": {"type": "integer"}, memory: {"type": "number"}},
//!         "required": ["pid", memory]});
//!     SchemaDocument::new(schema, Vec::new()).map(SchemaCandidate::new)
//! };
//! bus.register_schema("heartbeat.received", version("mem_mb")?).await?;
//! // Not compatible with version 1; the upcaster makes up for it.
//! let second = SchemaCandidate { compat: Some(Compat::Upcast), ..version("mem_mib")? };
//! bus.register_schema("heartbeat.received", second).await?;
//!
//! bus.publish("heartbeat.received", json!({"pid": 7, "mem_mb": 64})).await?;
//! let beats = bus.subscribe("heartbeat.received", "monitor").from(Position::Earliest).normalize();
//! let mut beats = beats.start().await?;
//! if let Some(beat) = beats.next().await {
//!     assert_eq!(beat.payload::<Value>()?, json!({"pid": 7, "mem_mib": 64}));
//!     assert_eq!(beat.headers().get("x-upcasted-from"), Some("1"));
//!     beat.ack().await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The guide in `docs/guide/library.md` walks through all of it. This crate re-exports; nothing else
//! lives here.

#![warn(missing_docs)]

pub use prom_engine::{
    Admit, Arrivals, AssignmentChange, Backoff, BeyondEnd, Bus, BusOptions, CommittingUnit, Compaction, Compat,
    CompatPolicy, CursorInfo, CursorMove, Deletion, Delivery, DroppedLetter, DualWrite, Error, ErrorKind, EventPlace,
    Expiry, Formats, Gap, GapReason, GivenBack, GroupChange, GroupInfo, GroupOptions, GroupSubscription, Item, Lag,
    LetterOutcome, LetterPlace, LetterRef, MemberStatus, Mode, NewTopics, Normalized, OptionDifference, Order, Page,
    ParkedAfter, ParkedKeyInfo, ParkedPage, PartitionInfo, PartitionLag, PartitionOwner, PartitionOwners, PartitionWhy,
    PlacedEvent, Position, Publish, Publishing, Reference, Refusal, Registered, RegistrationVerdict, Retained,
    Retention, SchemaById, SchemaCandidate, SchemaChoice, SchemaDocument, SchemaError, SchemaReferrer, SchemaSettings,
    SchemaTrial, SchemaVersion, SettingsChange, SkippedEvent, StoredEvent, Subscribe, Subscription,
    SubscriptionControl, Tail, TailOptions, Ticket, TopicInfo, TopicOffsets, TopicPage, TopicSchemas, TopicSettings,
    UPCAST_ERROR, UPCASTED_FROM, Undecided, UnitOfWork, UpcastFn, VERSION_HEADER, VersionEntry, Violation, Why,
    ack_all,
};
pub use prom_store::{
    Bounds, Clock, CursorChange, CursorName, DocumentWrite, Expect, LogName, MemoryStore, Outcome, ReadLimit, Store,
    StoreError, SystemClock,
};
pub use prom_store_embedded::{EmbeddedOptions, EmbeddedStore, Sizes, Sync};
pub use prom_types::{
    Durability, EpochMs, Event, EventId, Expectation, GroupName, Headers, Invalid, Json, NewEvent, Offset, Receipt,
    TopicName, TopicPattern,
};
pub use serde_json::json;

/// Compiles the code of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/library.md")]
struct Guide;

/// Compiles and runs the code of the guide to event sourcing.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/event-sourcing.md")]
struct EventSourcing;
