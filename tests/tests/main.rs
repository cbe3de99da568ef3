//! One integration binary: the promises of the whole system.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod crash;
mod e2e;
mod faults;
mod feeds;
mod hub;
mod mongo;
mod outbox;
mod partitions;
mod power_loss;
mod rounds;
mod sim;
