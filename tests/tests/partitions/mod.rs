//! Partitions with owners, with members that come and go.

mod history;
mod silent;
mod storm;
