//! What the jobs promise, over the memory store.

#![allow(clippy::print_stdout, reason = "what a run did is for the person who looks at it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod cutover;
mod cutover_snapshot;
mod fold;
mod keeper;
mod letters;
mod parked_letters;
mod prove;
mod replay_into;
mod time_travel;
mod trace;

use std::sync::Arc;

use prom_engine::{Bus, BusOptions, Compat, SchemaCandidate, SchemaDocument};
use prom_store::{MemoryStore, SystemClock};
use serde_json::{Value, json};

pub const TOPIC: &str = "heartbeat.received";

pub async fn bus() -> Bus {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
    Bus::start(store, BusOptions::default()).await.unwrap()
}

/// Waits until it is so.
pub async fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..5000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    panic!("waited for {what} in vain");
}

pub fn candidate(schema: Value) -> SchemaCandidate {
    SchemaCandidate::new(SchemaDocument::new(schema, Vec::new()).unwrap())
}

/// With its memory under this name.
pub fn heartbeat(memory: &str) -> Value {
    json!({"type": "object", "properties": {"pid": {"type": "integer"}, memory: {"type": "number"}}, "required": ["pid", memory]})
}

pub fn renamed() -> SchemaCandidate {
    SchemaCandidate {
        compat: Some(Compat::Upcast),
        upcast: Some(".mem_mib = .mem_mb | del(.mem_mb)".to_owned()),
        ..candidate(heartbeat("mem_mib"))
    }
}

pub async fn publish(bus: &Bus, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let key = (number % 7).to_string();
        bus.publish(TOPIC, json!({"pid": number, "mem_mb": 1})).key(key).await.unwrap();
    }
}
