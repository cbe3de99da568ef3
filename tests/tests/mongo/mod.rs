//! The hub and its store on MongoDB: what people are told when it does not work, and what holds when servers fail.

mod errors;
mod failover;
mod secured;
mod serve;
mod topics;
