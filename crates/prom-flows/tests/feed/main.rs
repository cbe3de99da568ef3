//! What change feeds promise, on a real MongoDB.
#![allow(clippy::unwrap_used)]

mod changes;
mod copy;
mod ends;
mod fit;
mod scene;
mod steer;
