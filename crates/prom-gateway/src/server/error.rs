//! Why a hub cannot listen, or did not end in order.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Each says what to change.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "without auth the hub listens on loopback only, and {address} is not; configure a JWT secret, a JWKS URL or a static token, or listen on 127.0.0.1"
    )]
    Unprotected { address: SocketAddr },
    #[error("cannot listen on {address}: {source}; is another hub running there?")]
    Bind { address: SocketAddr, source: std::io::Error },
    #[error("the TLS file {} cannot be used: {reason}", path.display())]
    Tls { path: PathBuf, reason: String },
    #[error(transparent)]
    Bus(#[from] prom_engine::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
