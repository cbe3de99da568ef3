//! A WebSocket: bytes in, messages out, and the reverse.
//!
//! One read brings many messages, one write carries many. Reading and writing go on side by side in
//! one future, so the socket has one owner and needs no lock.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use prom_protocol::websocket::{Decoder, Message, Role, WireError, encode};
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

use super::random::SplitMix;
use crate::connector::BoxedStream;
use crate::limits::{HUB_FRAME_BYTES, READ_BYTES};

pub(crate) struct Socket {
    stream: BoxedStream,
    incoming: BytesMut,
    decoder: Decoder,
    outgoing: Vec<u8>,
    /// How much of `outgoing` has left.
    written: usize,
    /// TLS may still hold bytes that were written.
    needs_flush: bool,
    random: SplitMix,
    pub last_received: Instant,
}

/// What has moved.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Wrote,
    Read,
    /// The other side has stopped sending.
    Ended,
}

impl Socket {
    /// `already_read` came behind the answer to the upgrade.
    pub fn new(stream: BoxedStream, already_read: &Bytes, random: SplitMix) -> Self {
        Self {
            stream,
            incoming: BytesMut::from(&already_read[..]),
            decoder: Decoder::new(Role::Client, HUB_FRAME_BYTES),
            outgoing: Vec::with_capacity(READ_BYTES),
            written: 0,
            needs_flush: false,
            random,
            last_received: Instant::now(),
        }
    }

    /// Messages above it are refused.
    pub fn set_limit(&mut self, bytes: usize) {
        self.decoder.set_limit(bytes);
    }

    /// Appends a text message. One above the limit is not, and its size is returned.
    pub fn text(&mut self, limit: usize, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), usize> {
        self.text_about(0, limit, write)
    }

    /// As [`Socket::text`], for a message of about this many bytes.
    pub fn text_about(&mut self, bytes: usize, limit: usize, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), usize> {
        let at = self.outgoing.len();
        self.outgoing.reserve(bytes);
        let begun = encode::begin_about(&mut self.outgoing, bytes, Role::Client);
        let text_at = self.outgoing.len();
        write(&mut self.outgoing);
        let size = self.outgoing.len() - text_at;
        if size > limit {
            self.outgoing.truncate(at);
            return Err(size);
        }
        encode::finish(&mut self.outgoing, begun, Role::Client, self.random.mask());
        Ok(())
    }

    pub fn ping(&mut self) {
        encode::ping(&mut self.outgoing, Role::Client, self.random.mask());
    }

    pub fn pong(&mut self, payload: &[u8]) {
        encode::pong(&mut self.outgoing, payload, Role::Client, self.random.mask());
    }

    pub fn close(&mut self, code: u16, reason: &str) {
        encode::close(&mut self.outgoing, code, reason, Role::Client, self.random.mask());
    }

    /// Everything has left: whatever gathered meanwhile can go now.
    pub fn is_idle(&self) -> bool {
        self.outgoing.is_empty()
    }

    /// Bytes that wait to leave.
    pub fn waiting_bytes(&self) -> usize {
        self.outgoing.len() - self.written
    }

    /// The next message that has come whole.
    pub fn next_message(&mut self) -> Result<Option<Message>, WireError> {
        self.decoder.next(&mut self.incoming)
    }

    /// Writes and reads, until something has moved. Nothing is lost if the future is dropped.
    pub async fn step(&mut self) -> io::Result<Step> {
        poll_fn(|context| self.poll_step(context)).await
    }

    /// Writes some of what waits, and reads nothing; never ready where nothing waits.
    pub async fn write(&mut self) -> io::Result<()> {
        poll_fn(|context| self.poll_write(context)).await
    }

    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.written < self.outgoing.len() {
            match Pin::new(&mut *self.stream).poll_write(context, &self.outgoing[self.written..])? {
                Poll::Ready(0) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(bytes) => {
                    self.written += bytes;
                    if self.written == self.outgoing.len() {
                        self.outgoing.clear();
                        self.written = 0;
                        self.needs_flush = true;
                    }
                    return Poll::Ready(Ok(()));
                }
                Poll::Pending => {}
            }
        } else if self.needs_flush && Pin::new(&mut *self.stream).poll_flush(context)?.is_ready() {
            self.needs_flush = false;
        }
        Poll::Pending
    }

    fn poll_step(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Step>> {
        if self.poll_write(context)?.is_ready() {
            return Poll::Ready(Ok(Step::Wrote));
        }
        // A long message is read into one piece of memory, without being moved while it grows.
        let missing = self.decoder.missing(&self.incoming);
        if self.incoming.capacity() - self.incoming.len() < missing.max(READ_BYTES / 4) {
            self.incoming.reserve(missing.max(READ_BYTES));
        }
        let read = pin!(self.stream.read_buf(&mut self.incoming)).poll(context);
        read.map_ok(|bytes| match bytes {
            0 => Step::Ended,
            _ => {
                self.last_received = Instant::now();
                Step::Read
            }
        })
    }

    /// Writes what is left, ignoring what comes.
    pub async fn drain(&mut self) -> io::Result<()> {
        while !self.is_idle() || self.needs_flush {
            if self.step().await? == Step::Ended {
                break;
            }
        }
        Ok(())
    }
}
