//! WebSocket as others implement it: `fastwebsockets` and `tungstenite` write and read, we only prepare and compare.

use std::io::{self, Read, Write};

use bytes::Bytes;
use fastwebsockets::{FragmentCollector, Frame, OpCode, Payload, WebSocket};
use tokio_tungstenite::tungstenite;
use tungstenite::protocol::frame::coding::{Control, Data};
use tungstenite::protocol::{Role, WebSocketContext, frame};

/// One frame of the wire, before it is encoded.
#[derive(Debug, Clone)]
pub struct Wire {
    pub fin: bool,
    pub kind: Kind,
    pub payload: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Continuation,
    Ping,
    Pong,
}

/// What a foreign reader understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    Text(String),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(u16, String),
}

/// Encoded by `fastwebsockets`; masked where there is a key.
pub fn fast_bytes(wire: &Wire, key: Option<[u8; 4]>) -> Vec<u8> {
    let opcode = match wire.kind {
        Kind::Text => OpCode::Text,
        Kind::Continuation => OpCode::Continuation,
        Kind::Ping => OpCode::Ping,
        Kind::Pong => OpCode::Pong,
    };
    let mut frame = Frame::new(wire.fin, opcode, key, Payload::Owned(wire.payload.clone()));
    if key.is_some() {
        frame.mask();
    }
    frame.write(&mut Vec::new()).to_vec()
}

/// Encoded by `tungstenite`; masked where there is a key.
pub fn tungstenite_bytes(wire: &Wire, key: Option<[u8; 4]>) -> Vec<u8> {
    let payload = Bytes::from(wire.payload.clone());
    let mut frame = match wire.kind {
        Kind::Text => frame::Frame::message(payload, frame::coding::OpCode::Data(Data::Text), wire.fin),
        Kind::Continuation => frame::Frame::message(payload, frame::coding::OpCode::Data(Data::Continue), wire.fin),
        Kind::Ping => frame::Frame::ping(payload),
        Kind::Pong => frame::Frame::pong(payload),
    };
    assert!(
        wire.fin || !matches!(frame.header().opcode, frame::coding::OpCode::Control(Control::Ping | Control::Pong))
    );
    frame.header_mut().mask = key;
    let mut out = Vec::new();
    frame.format(&mut out).unwrap();
    out
}

/// Everything `tungstenite` reads from these bytes when they arrive `step` at a time.
pub fn tungstenite_reads(bytes: &[u8], role: Role, step: usize) -> Vec<Seen> {
    let mut socket = Trickle { bytes, step };
    let mut context = WebSocketContext::new(role, None);
    let mut seen = Vec::new();
    while let Ok(message) = context.read(&mut socket) {
        seen.push(match message {
            tungstenite::Message::Text(text) => Seen::Text(text.to_string()),
            tungstenite::Message::Ping(payload) => Seen::Ping(payload.to_vec()),
            tungstenite::Message::Pong(payload) => Seen::Pong(payload.to_vec()),
            tungstenite::Message::Close(Some(close)) => Seen::Close(close.code.into(), close.reason.to_string()),
            other => panic!("unexpected {other:?}"),
        });
    }
    assert!(socket.bytes.is_empty(), "it stopped before the end, after {seen:?}");
    seen
}

/// The messages that `fastwebsockets` reads from these bytes.
pub async fn fast_reads(bytes: &[u8], role: fastwebsockets::Role) -> Vec<Seen> {
    let stream = tokio::io::join(bytes, tokio::io::sink());
    let mut socket = WebSocket::after_handshake(stream, role);
    socket.set_auto_pong(false);
    socket.set_auto_close(false);
    let mut socket = FragmentCollector::new(socket);
    let mut seen = Vec::new();
    while let Ok(frame) = socket.read_frame().await {
        let payload = frame.payload.to_vec();
        seen.push(match frame.opcode {
            OpCode::Text => Seen::Text(String::from_utf8(payload).unwrap()),
            OpCode::Ping => Seen::Ping(payload),
            OpCode::Pong => Seen::Pong(payload),
            OpCode::Close => {
                let code = u16::from_be_bytes([payload[0], payload[1]]);
                Seen::Close(code, String::from_utf8(payload[2..].to_vec()).unwrap())
            }
            other => panic!("unexpected {other:?}"),
        });
    }
    seen
}

/// A socket that gives its bytes away in small pieces and swallows what is written to it.
struct Trickle<'a> {
    bytes: &'a [u8],
    step: usize,
}

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.step).min(self.bytes.len());
        let (now, later) = self.bytes.split_at(length);
        buffer[..length].copy_from_slice(now);
        self.bytes = later;
        Ok(length)
    }
}

impl Write for Trickle<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
