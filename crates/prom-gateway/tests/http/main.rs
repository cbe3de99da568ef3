//! What the HTTP API promises, route by route, with an open and with a protected hub.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod home;

mod asyncapi;
mod bad_input;
mod batch;
mod cloud_events;
mod confluent;
mod cors;
mod cursors;
mod cutover;
mod dead_letters;
mod delete_topic;
mod export;
mod groups;
mod hub;
mod import;
mod lag;
mod latest_by_key;
mod memory;
mod metrics;
mod odd_json;
mod openapi;
mod partitions;
mod prove;
mod publish;
mod rates;
mod release;
mod replay;
mod rights;
mod schema;
mod topics;
