//! The bus through its public API, on directories that are closed and reopened: what a user is promised.
//!
//! Where file sizes could matter, a test runs twice: with production sizes, where everything is in memory and the
//! journal, and with tiny ones, where everything is in segments.

mod backlog;
mod compact;
mod cursor;
mod dead_letter;
mod fsck;
mod group;
mod home;
mod order;
mod park;
mod pattern;
mod publish;
mod readme;
mod restart;
mod retain;
mod unsubscribe;
