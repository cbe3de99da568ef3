//! Published signing keys: fetched when first needed, kept, refreshed, and fetched again when a token names a key that
//! is not there.
//!
//! Promises: one fetch at a time, and never two within the floor, whether they succeed or not. Keys stay in use while
//! their endpoint is down. After a successful fetch exactly its keys are in use.

mod cache;
mod fetch;
mod key;
mod key_set;

pub use cache::Jwks;
