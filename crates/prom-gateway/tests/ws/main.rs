//! The hub over WebSocket, frame by frame.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod raw;
mod scene;

mod auth;
mod publish;
mod rates;

mod caps;
mod deliver;
mod gap;
mod mask;
mod partitioned;
mod pause;
mod relay;
mod settle;
mod subscribe;

mod bad_input;
mod faults;
mod limits;
mod liveness;
mod slow_reader;

mod connections;
mod groups;
mod guard;
mod listen;
mod shutdown;
mod thin;
mod tls;
