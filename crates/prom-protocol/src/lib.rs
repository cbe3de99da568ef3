//! What hub and clients say to each other, over a WebSocket and over HTTP.
//!
//! - [`websocket`]: bytes to messages and back, without I/O.
//! - [`frame`]: one file per frame; each says how it is written and how it is read.
//! - [`http`]: one file per resource; the shapes of requests and answers.
//! - [`position`]: where to begin, as both write it.
//! - [`ErrorCode`] and [`CloseCode`]: from `protocol/codes.json`, which is the source for every language.
//!
//! Promises: what is read is checked, and an error names the field; payloads and events are carried
//! as they are, never parsed into values and written again.

#[rustfmt::skip]
mod codes;
pub mod frame;
pub mod http;
pub mod limits;
pub mod position;
pub mod websocket;

pub use codes::{CloseCode, ErrorCode, Reconnect, Retry};
pub use frame::{ClientFrame, Corr, FrameError, HubFrame, Request};
