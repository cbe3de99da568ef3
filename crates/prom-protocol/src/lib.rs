//! What hub and clients say to each other over a WebSocket.
//!
//! - [`websocket`]: bytes to messages and back, without I/O.
//! - [`frame`]: one file per frame; each says how it is written and how it is read.
//! - [`ErrorCode`] and [`CloseCode`]: from `protocol/codes.json`, which is the source for every language.
//!
//! Promises: what is read is checked, and an error names the field; payloads and events are carried
//! as they are, never parsed into values and written again.

#[rustfmt::skip]
mod codes;
pub mod frame;
pub mod limits;
pub mod websocket;

pub use codes::{CloseCode, ErrorCode, Reconnect, Retry};
pub use frame::{ClientFrame, Corr, FrameError, HubFrame, Request};
