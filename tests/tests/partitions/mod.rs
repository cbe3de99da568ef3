//! Partitions with owners, under members that come and go.

mod history;
mod silent;
mod storm;
