//! A socket, plain or with TLS, and its two halves.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio_rustls::server::TlsStream;

pub enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

pub enum ReadHalf {
    Plain(OwnedReadHalf),
    Tls(tokio::io::ReadHalf<Box<TlsStream<TcpStream>>>),
}

pub enum WriteHalf {
    Plain(OwnedWriteHalf),
    Tls(tokio::io::WriteHalf<Box<TlsStream<TcpStream>>>),
}

impl Stream {
    pub fn into_split(self) -> (ReadHalf, WriteHalf) {
        match self {
            Self::Plain(socket) => {
                let (read, write) = socket.into_split();
                (ReadHalf::Plain(read), WriteHalf::Plain(write))
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
            Self::Plain(socket) => socket.readable().await,
            // What is readable there is known only by reading.
            Self::Tls(_) => Ok(()),
        }
    }

    pub async fn read(&mut self, buffer: &mut BytesMut) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read_buf(buffer).await,
            Self::Tls(socket) => socket.read_buf(buffer).await,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(socket) => Pin::new(socket).poll_read(context, buffer),
            Self::Tls(socket) => Pin::new(socket).poll_read(context, buffer),
        }
    }
}

/// Writing goes to whichever socket it is.
macro_rules! write_through {
    ($name:ty) => {
        impl AsyncWrite for $name {
            fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
                match self.get_mut() {
                    Self::Plain(socket) => Pin::new(socket).poll_write(context, bytes),
                    Self::Tls(socket) => Pin::new(socket).poll_write(context, bytes),
                }
            }

            fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                match self.get_mut() {
                    Self::Plain(socket) => Pin::new(socket).poll_flush(context),
                    Self::Tls(socket) => Pin::new(socket).poll_flush(context),
                }
            }

            fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
                match self.get_mut() {
                    Self::Plain(socket) => Pin::new(socket).poll_shutdown(context),
                    Self::Tls(socket) => Pin::new(socket).poll_shutdown(context),
                }
            }
        }
    };
}

write_through!(Stream);
write_through!(WriteHalf);
