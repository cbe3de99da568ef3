//! What authentication promises to callers and to operators.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue stops")]

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
