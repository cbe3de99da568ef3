//! Connections within the process: a listener and the connector that reaches it.
//!
//! For tests that own the time, and for an application that holds its hub inside. Nothing leaves the process.

use std::io;

use prom_client::{BoxedStream, Connecting, Connector};
use tokio::io::DuplexStream;
use tokio::sync::mpsc;

/// Bytes under way in each direction, beyond which writing waits: about what a socket buffers.
const BUFFER_BYTES: usize = 64 * 1024;
/// Connections that wait to be accepted.
const BACKLOG: usize = 128;

/// Accepts what its [`MemoryConnector`] connects.
pub struct MemoryListener {
    incoming: mpsc::Receiver<DuplexStream>,
    accepted: u16,
}

/// Connects to its [`MemoryListener`], whatever the address says. Cloning costs a reference count.
#[derive(Clone)]
pub struct MemoryConnector {
    outgoing: mpsc::Sender<DuplexStream>,
}

impl MemoryListener {
    /// A listener and the way to it.
    pub fn new() -> (Self, MemoryConnector) {
        let (outgoing, incoming) = mpsc::channel(BACKLOG);
        (Self { incoming, accepted: 0 }, MemoryConnector { outgoing })
    }

    /// The next connection and its number, which stands where a TCP peer has its port.
    pub(super) async fn accept(&mut self) -> (DuplexStream, u16) {
        match self.incoming.recv().await {
            Some(stream) => {
                self.accepted = self.accepted.wrapping_add(1);
                (stream, self.accepted)
            }
            // No connector is left, so no connection will come.
            None => std::future::pending().await,
        }
    }
}

impl Connector for MemoryConnector {
    fn connect<'a>(&'a self, _host: &'a str, _port: u16) -> Connecting<'a> {
        Box::pin(async {
            let (near, far) = tokio::io::duplex(BUFFER_BYTES);
            let refused = |_gone| io::Error::from(io::ErrorKind::ConnectionRefused);
            self.outgoing.send(far).await.map_err(refused)?;
            Ok(Box::new(near) as BoxedStream)
        })
    }
}
