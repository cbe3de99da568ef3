//! The bus through its face, on directories that are closed and opened again: what a user is promised.
//!
//! Where file sizes could matter a promise is kept twice: with the sizes of production, where
//! everything is in memory and the journal, and with tiny ones, where everything is in segments.

mod backlog;
mod compact;
mod cursor;
mod dead_letter;
mod fsck;
mod group;
mod home;
mod order;
mod pattern;
mod publish;
mod readme;
mod restart;
mod retain;
mod unsubscribe;
