//! The hub that strangers connect to: the bus over WebSocket and HTTP, with rights and limits.
//!
//! ```text
//!   socket ─▶ server ─┬─▶ ws/    frames ─▶ rights ─▶ rates ─▶ bus
//!                     └─▶ http/  requests ─▶ rights ─▶ rates ─▶ bus
//! ```
//!
//! Promises: nothing durable is kept here; a connection's rights are its own; what one connection
//! costs is bounded by its limits, whatever it sends and however slowly it reads.

mod fair_places;
mod hub;
mod options;
mod peers;
mod problem;
pub mod rates;
mod server;
pub mod trace;

pub mod http;
mod metrics;
mod ws;

pub use hub::{Collaborators, Hub};
pub use options::{Cors, GatewayOptions};
pub use peers::{JoinError, Peers};
pub use prom_client::wire::Dialer;
pub use rates::{Rate, RateOptions};
pub use server::{Listener, Listeners, MemoryConnector, MemoryListener, ServeError, Server, ServerOptions, Tls};
