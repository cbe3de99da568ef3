//! The client and the real hub, end to end.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod scene;

mod kill;
mod once;
mod publish;
mod rate;
mod schema;
mod settle;
mod tail;
mod token;
mod window;
