//! Schemas: what is registered judges what is published, and brings what is read to the latest version.

mod admit;
mod dual_write;
mod memory;
mod normalize;
mod races;
mod register;
mod strangers;

use prom_engine::{Bus, Compat, Registered, SchemaCandidate, SchemaDocument};
use serde_json::{Value, json};

pub const HEARTBEAT: &str = "heartbeat.received";

/// The heartbeat with its memory under this name.
pub fn heartbeat(memory: &str) -> Value {
    json!({"type": "object", "properties": {
        "pid": {"type": "integer", "minimum": 1}, "name": {"type": "string"}, memory: {"type": "number"}},
        "required": ["pid", "name", memory]})
}

pub fn candidate(schema: Value) -> SchemaCandidate {
    SchemaCandidate::new(SchemaDocument::new(schema, Vec::new()).unwrap())
}

pub async fn register(bus: &Bus, topic: &str, schema: Value) -> Registered {
    bus.register_schema(topic, candidate(schema)).await.unwrap()
}

/// Version 2 renames the memory of version 1.
pub async fn register_heartbeats(bus: &Bus) {
    register(bus, HEARTBEAT, heartbeat("mem_mb")).await;
    let second = SchemaCandidate {
        compat: Some(Compat::Upcast),
        upcast: Some(".mem_mib = .mem_mb | del(.mem_mb)".to_owned()),
        ..candidate(heartbeat("mem_mib"))
    };
    bus.register_schema(HEARTBEAT, second).await.unwrap();
}
