//! A client's end of a WebSocket, as bare as it can be: the load generator should not be the slow part.

use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};
use bytes::{Bytes, BytesMut};
use prom_protocol::frame::auth::Auth;
use prom_protocol::frame::peek::{self, FrameKind};
use prom_protocol::websocket::{Decoder, Message, Role, encode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

const READ_BYTES: usize = 256 * 1024;
const READ_LITTLE_BYTES: usize = 16 * 1024;
/// Any key will do where no proxy listens in between.
const KEY: [u8; 4] = [7, 1, 8, 2];

pub struct Reader {
    socket: OwnedReadHalf,
    buffer: BytesMut,
    decoder: Decoder,
    read_bytes: usize,
}

pub struct Writer {
    socket: OwnedWriteHalf,
    buffer: Vec<u8>,
}

/// Connects and authenticates, without any feature of the protocol.
pub async fn connect(address: SocketAddr) -> anyhow::Result<(Reader, Writer)> {
    let mut socket = TcpStream::connect(address).await.context("connecting")?;
    socket.set_nodelay(true)?;
    let request = format!(
        "GET /ws HTTP/1.1\r\nhost: {address}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    socket.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await?);
    }
    ensure!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
    let (read, write) = socket.into_split();
    let decoder = Decoder::new(Role::Client, 64 << 20);
    let mut reader = Reader { socket: read, buffer: BytesMut::new(), decoder, read_bytes: READ_BYTES };
    let mut writer = Writer { socket: write, buffer: Vec::new() };
    writer.put(|out| Auth { token: None, features: Vec::new() }.write(out, None));
    writer.flush().await?;
    check_ok(&reader.next().await?)?;
    Ok((reader, writer))
}

/// Connections that do nothing, and keep no memory on this side.
pub async fn idle(address: SocketAddr, count: usize) -> anyhow::Result<Vec<(Reader, Writer)>> {
    let mut idle = Vec::with_capacity(count);
    for _ in 0..count {
        let (mut reader, writer) = connect(address).await?;
        reader.buffer = BytesMut::new();
        idle.push((reader, writer));
    }
    Ok(idle)
}

pub fn check_ok(text: &[u8]) -> anyhow::Result<()> {
    ensure!(peek::kind(text) == FrameKind::Ok, "the hub sent {}", String::from_utf8_lossy(text));
    Ok(())
}

impl Reader {
    /// The next text, if it was read already.
    pub fn buffered(&mut self) -> anyhow::Result<Option<Bytes>> {
        loop {
            match self.decoder.next(&mut self.buffer)? {
                Some(Message::Text(text)) => return Ok(Some(text)),
                Some(Message::Close(code)) => bail!("the hub closed with {code:?}"),
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    pub async fn next(&mut self) -> anyhow::Result<Bytes> {
        loop {
            if let Some(text) = self.buffered()? {
                return Ok(text);
            }
            self.buffer.reserve(self.read_bytes);
            ensure!(self.socket.read_buf(&mut self.buffer).await? > 0, "the hub went away");
        }
    }

    /// Reads less at once: one of very many should not have a buffer for megabytes.
    pub fn read_little(&mut self) {
        self.read_bytes = READ_LITTLE_BYTES;
        self.buffer = BytesMut::new();
    }
}

impl Writer {
    pub fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let begun = encode::begin(&mut self.buffer);
        write(&mut self.buffer);
        encode::finish(&mut self.buffer, begun, Role::Client, KEY);
    }

    pub async fn flush(&mut self) -> anyhow::Result<()> {
        self.socket.write_all(&self.buffer).await?;
        self.buffer.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_but_ok_fails_the_measurement() {
        assert!(check_ok(b"{\"op\":\"OK\",\"corr\":1}").is_ok());
        assert!(check_ok(b"{\"op\":\"ERR\",\"code\":\"overloaded\"}").is_err());
        assert!(check_ok(b"{\"op\":\"GAP\"}").is_err());
    }
}
