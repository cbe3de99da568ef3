//! The `prom` command as people run it: the real binary, its output and its exit codes.

mod completions;
mod config;
mod fake_hub;
mod fsck;
mod help;
mod http;
mod prom;
mod token;
