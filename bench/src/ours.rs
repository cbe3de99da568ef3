//! Our hub under the same load as others: by plain frames, as any WebSocket library could send them, and by our Rust
//! client. fsync is on, as it is by default.

mod client;
pub mod http;
mod plain;
mod server;
pub mod socket;

pub use server::{HubClient, HubContender, connect};
