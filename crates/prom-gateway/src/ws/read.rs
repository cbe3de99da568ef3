//! Reading from the socket: as much as is there, into one buffer.

use std::io;

use bytes::BytesMut;

use crate::server::ReadHalf;

/// What an idle connection asks for first.
const SMALL: usize = 4 * 1024;
/// What a busy one gets at once.
const LARGE: usize = 128 * 1024;

/// The bytes of one connection that were read and not understood yet.
pub struct SocketInput {
    socket: ReadHalf,
    pub buffer: BytesMut,
    /// Grows while reads fill it, so that busy connections need few.
    chunk: usize,
}

impl SocketInput {
    pub fn new(socket: ReadHalf, read_already: BytesMut) -> Self {
        Self { socket, buffer: read_already, chunk: SMALL }
    }

    /// Reads more; zero at the end. While it waits, a connection without half a frame holds no memory.
    pub async fn fill(&mut self) -> io::Result<usize> {
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
            self.socket.readable().await?;
        }
        self.buffer.reserve(self.chunk);
        let read = self.socket.read(&mut self.buffer).await?;
        self.chunk = match read {
            filled if filled >= self.chunk => (self.chunk * 4).min(LARGE),
            small if small < SMALL => SMALL,
            _ => self.chunk,
        };
        Ok(read)
    }

    /// Reads until the end and keeps nothing.
    pub async fn discard(&mut self) {
        self.buffer.clear();
        while let Ok(1..) = self.socket.read(&mut self.buffer).await {
            self.buffer.clear();
        }
    }
}
