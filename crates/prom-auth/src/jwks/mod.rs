//! Published signing keys: fetched when first needed, kept, refreshed, and fetched again when a token names an unknown
//! key.
//!
//! Promises: one fetch at a time, and never two within the floor, successful or not. Keys stay in use while their
//! endpoint is down. A successful fetch replaces all keys.

mod cache;
mod fetch;
mod key;
mod key_set;

pub use cache::Jwks;
