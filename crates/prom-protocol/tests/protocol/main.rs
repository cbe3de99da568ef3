//! The protocol: WebSocket messages against implementations not written here, frames against themselves, and bad input.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod any_event;
mod any_input;
mod client_frames;
mod foreign;
mod hub_frames;
mod json;
mod refusals;
mod websocket;
mod wrong_types;
