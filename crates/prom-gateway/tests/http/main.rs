//! What the HTTP API promises, route by route, with an open and with a protected hub.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod home;

mod asyncapi;
mod at;
mod bad_input;
mod batch;
mod cloud_events;
mod confluent;
mod cors;
mod cursors;
mod cutover;
mod dashboard;
mod dead_letters;
mod delete_topic;
mod expect;
mod export;
mod fairness;
mod flows;
mod groups;
mod honest;
mod hub;
mod import;
mod lag;
mod latest_by_key;
mod listing;
mod mask;
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
mod replay_live;
mod rights;
mod schema;
mod search;
mod state;
mod topics;
mod trace;
mod whoami;
