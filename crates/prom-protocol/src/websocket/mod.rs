//! WebSocket messages from bytes and to bytes (RFC 6455), without I/O and without extensions.
//!
//! ```text
//!   socket ─read─▶ BytesMut ─▶ Decoder::next ─▶ Message      (many per read)
//!   encode::text ─▶ Vec<u8> ─write─▶ socket                  (many per write)
//! ```
//!
//! Ours, because the hub lives on it: one read brings many messages and one write carries many, no
//! memory is set aside for bytes that were only announced, and a message is handed on as a slice of
//! what was read. See `docs/decisions/0007-own-websocket-framing.md`.

mod decode;
pub mod encode;
mod mask;

pub use decode::{Decoder, Message, WireError};

/// Which end of the connection this is: clients mask what they send, hubs do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Hub,
    Client,
}

pub(crate) mod opcode {
    pub const CONTINUATION: u8 = 0x0;
    pub const TEXT: u8 = 0x1;
    pub const BINARY: u8 = 0x2;
    pub const CLOSE: u8 = 0x8;
    pub const PING: u8 = 0x9;
    pub const PONG: u8 = 0xA;
}
