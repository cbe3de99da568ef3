//! Fuzz targets: each takes bytes, does with them what the hub would do, and panics where a promise is broken.
//!
//! ```text
//!   seeds ─▶ mutate ─▶ target(&[u8])        by our driver, or by libFuzzer: `fuzz_target!(|data| prom_fuzz::frames::run(data))`
//! ```
//!
//! The driver needs nothing but stable Rust and is not guided by coverage: seeds that are in order and a dictionary
//! take it into the parsers, a number repeats whatever it found.

#![allow(clippy::unwrap_used, reason = "a target fails by panicking")]

pub mod directory;
pub mod drive;
pub mod frames;
mod mutate;
pub mod records;
mod rewrite;

use drive::Target;

pub const TARGETS: [Target; 3] = [frames::TARGET, records::TARGET, directory::TARGET];
