//! From bytes to messages.
//!
//! The decoder takes whole frames out of a buffer that the caller fills, and puts the fragments of
//! a message together. Promises: a message is never longer than the limit; a frame that announces
//! more is refused by its header; nothing that is refused leaves the decoder usable.

use bytes::{Buf, Bytes, BytesMut};

use super::{Role, mask, opcode};
use crate::CloseCode;
use crate::limits::CONTROL_BYTES;

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// UTF-8, checked.
    Text(Bytes),
    /// To be answered with a pong of the same bytes.
    Ping(Bytes),
    Pong,
    /// With its code, if it had one.
    Close(Option<u16>),
}

/// The connection cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    #[error("a message of {size} bytes is above the limit of {limit}")]
    TooLarge { size: u64, limit: usize },
    #[error("a binary message; only text is spoken here")]
    Binary,
    #[error("a text message that is not UTF-8")]
    NotUtf8,
    #[error("not WebSocket as it should be: {0}")]
    Protocol(&'static str),
}

/// One direction of one connection.
#[derive(Debug)]
pub struct Decoder {
    role: Role,
    limit: usize,
    /// The beginning of a message whose end has not come yet.
    fragments: Option<BytesMut>,
}

/// A frame's head, read and checked.
struct Head {
    fin: bool,
    opcode: u8,
    key: Option<[u8; 4]>,
    head_bytes: usize,
    payload_bytes: usize,
}

impl WireError {
    /// How the connection is closed after it.
    pub fn close_code(self) -> CloseCode {
        match self {
            Self::TooLarge { .. } => CloseCode::TooLarge,
            Self::Binary => CloseCode::NotText,
            Self::NotUtf8 => CloseCode::NotUtf8,
            Self::Protocol(_) => CloseCode::ProtocolError,
        }
    }
}

impl Decoder {
    /// `role` is the reader's own.
    pub fn new(role: Role, limit: usize) -> Self {
        Self { role, limit, fragments: None }
    }

    /// From the next frame on.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// The next message, or `None` when the buffer holds no whole one.
    pub fn next(&mut self, buffer: &mut BytesMut) -> Result<Option<Message>, WireError> {
        loop {
            let Some(head) = self.head(buffer)? else {
                return Ok(None);
            };
            if buffer.len() < head.head_bytes + head.payload_bytes {
                return Ok(None);
            }
            buffer.advance(head.head_bytes);
            let mut payload = buffer.split_to(head.payload_bytes);
            if let Some(key) = head.key {
                mask::apply(&mut payload, key);
            }
            if let Some(message) = self.take(&head, payload)? {
                return Ok(Some(message));
            }
        }
    }

    /// How many bytes the first frame of the buffer still lacks; nothing as long as its head is not there.
    pub fn missing(&self, buffer: &[u8]) -> usize {
        match self.head(buffer) {
            Ok(Some(head)) => (head.head_bytes + head.payload_bytes).saturating_sub(buffer.len()),
            Ok(None) | Err(_) => 0,
        }
    }

    /// True between the fragments of a message.
    pub fn is_mid_message(&self) -> bool {
        self.fragments.is_some()
    }

    fn head(&self, buffer: &[u8]) -> Result<Option<Head>, WireError> {
        let &[first, second, ..] = buffer else {
            return Ok(None);
        };
        if first & 0x70 != 0 {
            return Err(WireError::Protocol("reserved bits are set, and no extension was agreed on"));
        }
        let masked = second & 0x80 != 0;
        match (self.role, masked) {
            (Role::Hub, false) => return Err(WireError::Protocol("a client's frame must be masked")),
            (Role::Client, true) => return Err(WireError::Protocol("a hub's frame must not be masked")),
            _ => {}
        }
        let (length_bytes, short) = match second & 0x7F {
            126 => (2, 0),
            127 => (8, 0),
            short => (0, u64::from(short)),
        };
        let head_bytes = 2 + length_bytes + if masked { 4 } else { 0 };
        let Some(rest) = buffer.get(2..head_bytes) else {
            return Ok(None);
        };
        let (length, key) = rest.split_at(length_bytes);
        let announced = match length_bytes {
            0 => short,
            _ => length.iter().fold(0u64, |length, byte| length << 8 | u64::from(*byte)),
        };
        let (fin, opcode) = (first & 0x80 != 0, first & 0x0F);
        let payload_bytes = self.checked_length(fin, opcode, announced)?;
        Ok(Some(Head { fin, opcode, key: key.try_into().ok(), head_bytes, payload_bytes }))
    }

    fn checked_length(&self, fin: bool, opcode: u8, announced: u64) -> Result<usize, WireError> {
        match opcode {
            opcode::CLOSE | opcode::PING | opcode::PONG => {
                if !fin {
                    return Err(WireError::Protocol("a control frame in fragments"));
                }
                // Too short to be held against the limit of messages.
                return match usize::try_from(announced) {
                    Ok(length) if length <= CONTROL_BYTES => Ok(length),
                    _ => Err(WireError::Protocol("a control frame above 125 bytes")),
                };
            }
            opcode::TEXT if self.fragments.is_some() => {
                return Err(WireError::Protocol("a new message before the end of the last"));
            }
            opcode::CONTINUATION if self.fragments.is_none() => {
                return Err(WireError::Protocol("a continuation of nothing"));
            }
            opcode::TEXT | opcode::CONTINUATION => {}
            opcode::BINARY => return Err(WireError::Binary),
            _ => return Err(WireError::Protocol("an unknown opcode")),
        }
        let before = self.fragments.as_ref().map_or(0, |fragments| fragments.len() as u64);
        let size = before.saturating_add(announced);
        let too_large = WireError::TooLarge { size, limit: self.limit };
        if size > self.limit as u64 {
            return Err(too_large);
        }
        usize::try_from(announced).map_err(|_| too_large)
    }

    fn take(&mut self, head: &Head, payload: BytesMut) -> Result<Option<Message>, WireError> {
        Ok(match head.opcode {
            opcode::PING => Some(Message::Ping(payload.freeze())),
            opcode::PONG => Some(Message::Pong),
            opcode::CLOSE => Some(Message::Close(close_code(&payload)?)),
            _ => {
                let whole = match self.fragments.take() {
                    None => payload,
                    Some(mut fragments) => {
                        fragments.extend_from_slice(&payload);
                        fragments
                    }
                };
                if head.fin {
                    Some(text(whole)?)
                } else {
                    self.fragments = Some(whole);
                    None
                }
            }
        })
    }
}

fn text(whole: BytesMut) -> Result<Message, WireError> {
    match simdutf8::basic::from_utf8(&whole) {
        Ok(_) => Ok(Message::Text(whole.freeze())),
        Err(_) => Err(WireError::NotUtf8),
    }
}

fn close_code(payload: &[u8]) -> Result<Option<u16>, WireError> {
    match payload {
        [] => Ok(None),
        &[high, low, ref reason @ ..] => {
            let code = u16::from_be_bytes([high, low]);
            let reserved = !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
            match (reserved, std::str::from_utf8(reason)) {
                (true, _) => Err(WireError::Protocol("a close code that must not be sent")),
                (_, Err(_)) => Err(WireError::NotUtf8),
                (_, Ok(_)) => Ok(Some(code)),
            }
        }
        [_] => Err(WireError::Protocol("a close frame of one byte")),
    }
}
