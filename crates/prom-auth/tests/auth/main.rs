//! What the door promises to those outside and to those who keep it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod clock;
mod endpoint;
mod mint;
mod patterns;
mod published_keys;
mod rights;
mod rotation;
mod signer;
mod tokens;
mod vectors;
