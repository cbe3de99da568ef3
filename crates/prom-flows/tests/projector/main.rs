//! What projectors promise, each on both targets: the hub's own store, and a real MongoDB.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod changelog;
mod rebuild;
mod scene;
mod states;
mod transactional;
