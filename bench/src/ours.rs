//! Our hub under the same load as others: by plain frames, as any WebSocket library could send them, and by our Rust
//! client. fsync is on, as it is by default.

mod client;
mod plain;
mod server;

pub use server::{HubClient, HubContender, HubServer};
