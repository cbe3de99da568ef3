//! How the client reaches a hub: TCP, unless the application passes in another way.

use std::future::Future;
use std::io;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// Bytes in both directions.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

/// A stream of any kind.
pub type BoxedStream = Box<dyn ByteStream>;

/// An attempt to connect.
pub type Connecting<'a> = Pin<Box<dyn Future<Output = io::Result<BoxedStream>> + Send + 'a>>;

/// Opens streams to a hub. TLS, where the URL asks for it, goes on top of the stream.
pub trait Connector: Send + Sync + 'static {
    /// One attempt. The client has its own time limit and tries again.
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> Connecting<'a>;
}

/// The default: looks the name up and opens a TCP connection.
#[derive(Debug, Clone, Copy, Default)]
pub struct TcpConnector;

impl Connector for TcpConnector {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> Connecting<'a> {
        Box::pin(async move {
            let stream = TcpStream::connect((host, port)).await?;
            // The client gathers its writes already.
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as BoxedStream)
        })
    }
}
