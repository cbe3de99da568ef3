//! The Rust client of a hub: one connection that is kept up, over which an application publishes and subscribes.
//!
//! ```no_run
//! # async fn example() -> Result<(), prom_client::Error> {
//! use prom_client::{Client, ClientOptions, Position, json};
//!
//! let client = Client::connect("http://127.0.0.1:8090", ClientOptions::default()).await?;
//! client.publish("orders.placed", json!({"id": 7})).key("7").await?;
//!
//! let mut orders = client.subscribe("orders.*", "billing").from(Position::Earliest).start().await?;
//! if let Some(delivery) = orders.next().await {
//!     delivery.ack().await?;
//! }
//! client.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! - [`Client`] connects, publishes, subscribes and closes. What gathers while a write is under way
//!   leaves in the next, as few frames as the hub can read.
//! - [`Subscription`] and [`Tail`] read; [`Subscribe::run`] calls a handler.
//! - [`Error`] says what went wrong and what to do.
//!
//! Promises: a receipt means stored; what was under way when a connection broke is sent again with the
//! same id, and stored once; subscriptions come back by themselves; memory is bounded, and what does
//! not fit makes the caller wait. The guide in `docs/guide/rust-client.md` walks through all of it.

#![warn(missing_docs)]

mod client;
mod connector;
mod error;
pub mod limits;
pub mod once;
mod options;
mod state;

mod publish;

mod run;
mod subscribe;
mod subscription;
mod tail;

mod ack;
mod assignment;
mod batch;
mod deliver;
mod event;
mod modack;
mod nack;
mod settle;

mod connection;
mod core;
mod feed;
mod mailbox;
mod pending;
mod room;
mod slots;
mod token;
mod url;
mod warn;
mod window;
pub mod wire;

#[cfg(any(feature = "outbox-mongo", feature = "outbox-sql"))]
pub mod outbox;

pub use assignment::AssignmentChange;
pub use batch::Batch;
pub use client::Client;
pub use connector::{BoxedStream, ByteStream, Connecting, Connector, TcpConnector};
pub use deliver::{Delivery, Ticket};
pub use error::Error;
pub use event::StoredEvent;
pub use options::ClientOptions;
pub use prom_protocol::ErrorCode;
pub use prom_protocol::frame::assignment::Assignment;
pub use prom_protocol::frame::err::{MaybeStored, SchemaMisfit};
pub use prom_types::{
    Clock, Durability, EpochMs, Event, EventId, Expectation, Gap, GapReason, GroupName, Headers, Invalid, Json, Mode,
    NewEvent, Offset, Order, Position, Receipt, TopicName, TopicPattern,
};
pub use publish::{Publish, Publishing, PublishingBatch};
pub use serde_json::json;
pub use settle::Settling;
pub use state::{ConnectionState, Notice, Notices, StateChanges};
pub use subscribe::Subscribe;
pub use subscription::{Item, Subscription, SubscriptionControl};
pub use tail::{Tail, TailItem, TailOptions};

/// Compiles the code of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/rust-client.md")]
struct Guide;

/// Compiles the code of the guide to partitions.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/partitions.md")]
struct PartitionsGuide;
