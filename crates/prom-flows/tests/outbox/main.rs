//! What an outbox promises, on every database: one bus in memory, real servers.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod bad_rows;
mod database;
mod late;
mod order;
mod scene;
mod sharing;
