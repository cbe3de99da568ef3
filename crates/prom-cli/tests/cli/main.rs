//! The `prom` command as people run it: the real binary, its output and its exit codes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod bench;
mod codegen;
mod completions;
mod config;
mod cutover;
mod dlq;
mod events;
mod fake_hub;
mod flows;
mod fsck;
mod help;
mod http;
mod lint;
mod prom;
mod schema;
mod serve;
mod token;
