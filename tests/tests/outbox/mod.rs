//! Outboxes with real hubs and real databases.

mod examples;
mod killed;
mod scene;
