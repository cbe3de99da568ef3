//! The hub and its store on MongoDB: what people are told when it fails, and what holds when servers fail.

mod cluster;
mod errors;
mod failover;
mod hubs;
mod lists;
mod schemas;
mod secured;
mod serve;
mod takeover;
mod topics;
