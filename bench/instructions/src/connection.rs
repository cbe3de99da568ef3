//! The hub's end of a connection without its socket: what was read and what will be written.

use std::hint::black_box;

use bytes::{Bytes, BytesMut};
use prom_protocol::websocket::{Decoder, Message, Role, encode};

/// What a busy connection of the hub reads at once.
const READ_BYTES: usize = 128 * 1024;
const FRAME_BYTES: usize = 1024 * 1024;
const NO_MASK: [u8; 4] = [0; 4];

pub struct Connection {
    input: BytesMut,
    decoder: Decoder,
    output: Vec<u8>,
}

impl Connection {
    pub fn new() -> Self {
        let decoder = Decoder::new(Role::Hub, FRAME_BYTES);
        Self { input: BytesMut::new(), decoder, output: Vec::new() }
    }

    /// Stands for a read: the bytes are copied into the buffer as the system would.
    pub fn read(&mut self, bytes: &[u8]) {
        self.input.reserve(READ_BYTES);
        self.input.extend_from_slice(bytes);
    }

    pub fn next(&mut self) -> anyhow::Result<Option<Bytes>> {
        match self.decoder.next(&mut self.input)? {
            None => Ok(None),
            Some(Message::Text(text)) => Ok(Some(text)),
            Some(other) => anyhow::bail!("not a text: {other:?}"),
        }
    }

    /// One frame of the hub.
    pub fn frame(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let begun = encode::begin(&mut self.output);
        write(&mut self.output);
        encode::finish(&mut self.output, begun, Role::Hub, NO_MASK);
    }

    /// Stands for a write: the buffer is kept, as the hub does.
    pub fn write(&mut self) {
        black_box(&self.output);
        self.output.clear();
    }
}
