//! The WebSocket gateway: one task per connection, one more per subscription, and one per group that another hub serves.
//!
//! ```text
//!            ┌───────────────────────── connection ─────────────────────────┐
//!   socket ─▶│ read ─▶ frames ─▶ rights, rates ─▶ bus                       │
//!            │            └─▶ bursts ─▶ answer ─┐                           │
//!   socket ◀─│ write ◀──────────── outbox ◀─────┴──◀── deliver, tail (tasks)│
//!            └──────────────────────────────────────────────────────────────┘
//! ```
//!
//! What arrives in one read is handed to the bus in one go and answered in one write. Promises: every
//! frame is answered once, in the order of the frames; nothing is written beyond what the client
//! takes, and nothing is read from a client that does not take its answers; when the connection ends
//! its leases go back at once.

mod answer;
mod burst;
mod connection;
mod connections;
mod inflight;
mod liveness;
mod outbox;
mod read;
mod write;

mod ack;
mod auth;
mod deliver;
mod member;
mod modack;
mod nack;
mod pause;
mod publish;
mod relay;
mod relay_frame;
mod seat;
mod sight;
mod subscribe;
mod subscription;
mod subscription_cap;
mod tail;
mod thin;
mod topics;
mod unsubscribe;

pub(crate) use connection::run;
pub(crate) use connections::{Connections, ListedConnection};
pub(crate) use subscription_cap::{CountedSubscription, SubscriptionCounts};
