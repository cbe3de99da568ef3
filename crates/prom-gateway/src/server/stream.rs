//! A connection's bytes: TCP, memory, or TLS over one of them; and its two halves.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio_rustls::server::TlsStream;

/// What a listener accepts, and TLS over it.
pub enum HubStream {
    Tcp(TcpStream),
    Memory(DuplexStream),
    Tls(Box<TlsStream<HubStream>>),
}

pub enum ReadHalf {
    Tcp(OwnedReadHalf),
    Memory(tokio::io::ReadHalf<DuplexStream>),
    Tls(tokio::io::ReadHalf<Box<TlsStream<HubStream>>>),
}

pub enum WriteHalf {
    Tcp(OwnedWriteHalf),
    Memory(tokio::io::WriteHalf<DuplexStream>),
    Tls(tokio::io::WriteHalf<Box<TlsStream<HubStream>>>),
}

impl HubStream {
    pub fn into_split(self) -> (ReadHalf, WriteHalf) {
        match self {
            Self::Tcp(socket) => {
                let (read, write) = socket.into_split();
                (ReadHalf::Tcp(read), WriteHalf::Tcp(write))
            }
            Self::Memory(socket) => {
                let (read, write) = tokio::io::split(socket);
                (ReadHalf::Memory(read), WriteHalf::Memory(write))
            }
            Self::Tls(socket) => {
                let (read, write) = tokio::io::split(socket);
                (ReadHalf::Tls(read), WriteHalf::Tls(write))
            }
        }
    }
}

impl ReadHalf {
    /// Ready when a read is worth setting memory aside for.
    pub async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(socket) => socket.readable().await,
            // Only a read tells whether these have bytes.
            Self::Memory(_) | Self::Tls(_) => Ok(()),
        }
    }

    pub async fn read(&mut self, buffer: &mut BytesMut) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.read_buf(buffer).await,
            Self::Memory(socket) => socket.read_buf(buffer).await,
            Self::Tls(socket) => socket.read_buf(buffer).await,
        }
    }
}

impl AsyncRead for HubStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_read(context, buffer),
            Self::Memory(socket) => Pin::new(socket).poll_read(context, buffer),
            Self::Tls(socket) => Pin::new(socket).poll_read(context, buffer),
        }
    }
}

/// Passes writes on to the variant.
macro_rules! write_through {
    ($name:ty) => {
        impl AsyncWrite for $name {
            fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
                match self.get_mut() {
                    Self::Tcp(socket) => Pin::new(socket).poll_write(context, bytes),
                    Self::Memory(socket) => Pin::new(socket).poll_write(context, bytes),
                    Self::Tls(socket) => Pin::new(socket).poll_write(context, bytes),
                }
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                context: &mut Context<'_>,
                pieces: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                match self.get_mut() {
                    Self::Tcp(socket) => Pin::new(socket).poll_write_vectored(context, pieces),
                    Self::Memory(socket) => Pin::new(socket).poll_write_vectored(context, pieces),
                    Self::Tls(socket) => Pin::new(socket).poll_write_vectored(context, pieces),
                }
            }

            fn is_write_vectored(&self) -> bool {
                match self {
                    Self::Tcp(socket) => socket.is_write_vectored(),
                    Self::Memory(socket) => socket.is_write_vectored(),
                    Self::Tls(socket) => socket.is_write_vectored(),
                }
            }

            fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                match self.get_mut() {
                    Self::Tcp(socket) => Pin::new(socket).poll_flush(context),
                    Self::Memory(socket) => Pin::new(socket).poll_flush(context),
                    Self::Tls(socket) => Pin::new(socket).poll_flush(context),
                }
            }

            fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                match self.get_mut() {
                    Self::Tcp(socket) => Pin::new(socket).poll_shutdown(context),
                    Self::Memory(socket) => Pin::new(socket).poll_shutdown(context),
                    Self::Tls(socket) => Pin::new(socket).poll_shutdown(context),
                }
            }
        }
    };
}

write_through!(HubStream);
write_through!(WriteHalf);
