//! Who is let in and what they may do: one table of tokens and one of rights, each asked over WebSocket and over HTTP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod doors;
mod issuer;

mod live;
mod rights;
mod tokens;
