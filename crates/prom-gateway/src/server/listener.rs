//! Where connections come from: bound TCP addresses, or memory.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket};
use tokio_rustls::TlsAcceptor;

use super::memory::MemoryListener;
use super::{HubStream, ServeError, ServerOptions, tls};

/// A source of connections. The caller binds it; the server accepts from it.
pub enum Listener {
    /// A bound TCP socket.
    Tcp(TcpListener),
    /// Connections within the process.
    Memory(MemoryListener),
}

/// Everything a server accepts from, and the certificate it shows.
pub struct Listeners {
    pub(super) main: Listener,
    pub(super) ops: Option<Listener>,
    pub(super) tls: Option<TlsAcceptor>,
}

impl Listener {
    /// Binds a TCP address.
    pub async fn bind(address: SocketAddr) -> Result<Self, ServeError> {
        listen(address).map(Self::Tcp).map_err(|source| ServeError::Bind { address, source })
    }

    /// The address that was bound. Memory counts as loopback, with port 0.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr(),
            Self::Memory(_) => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
        }
    }

    /// The next connection. Nothing is lost if the future is dropped.
    pub(super) async fn accept(&mut self) -> io::Result<(HubStream, SocketAddr)> {
        match self {
            Self::Tcp(listener) => {
                let (socket, peer) = listener.accept().await?;
                // Frames are gathered before they are written; waiting for more would only add delay.
                if let Err(error) = socket.set_nodelay(true) {
                    tracing::debug!(%peer, %error, "cannot turn off the delay of small writes");
                }
                Ok((HubStream::Tcp(socket), peer))
            }
            Self::Memory(listener) => {
                let (stream, number) = listener.accept().await;
                Ok((HubStream::Memory(stream), SocketAddr::from((Ipv4Addr::LOCALHOST, number))))
            }
        }
    }
}

/// Connections that the system holds until they are accepted, as far as it allows (`net.core.somaxconn`). When a hub
/// comes back, all its clients do too; those that find no room try again only after a second or more.
const BACKLOG: u32 = 65_535;

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A hub that starts again takes its port back at once.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

impl Listeners {
    /// One listener for WebSockets and HTTP.
    pub fn new(main: Listener) -> Self {
        Self { main, ops: None, tls: None }
    }

    /// Binds the TCP addresses of the options, and reads the TLS files first.
    pub async fn bind(options: &ServerOptions) -> Result<Self, ServeError> {
        let tls = options.tls.as_ref().map(tls::acceptor).transpose()?;
        let main = Listener::bind(options.listen).await?;
        let ops = match options.ops_listen {
            Some(address) => Some(Listener::bind(address).await?),
            None => None,
        };
        Ok(Self { main, ops, tls })
    }
}
