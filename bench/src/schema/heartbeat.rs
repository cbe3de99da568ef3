//! Heartbeats of three versions, and the way from one to the next: as jq, as functions for the bus, and by hand.
//!
//! | version | what changed |
//! | --- | --- |
//! | 1 | `{pid, name, host, cpu_pct, mem_mb, sid?}` |
//! | 2 | `mem_mb` is called `mem_mib` |
//! | 3 | `name` and `host` are together in `origin` |

use std::sync::Arc;

use bytes::Bytes;
use prom_types::{Json, NewEvent, TopicName};
use promethean::{Bus, Compat, SchemaCandidate, SchemaDocument, UpcastFn};
use serde::Serialize;
use serde_json::{Value, json};

pub const TOPIC: &str = "heartbeat.received";
const TO_2: &str = ".mem_mib = .mem_mb | del(.mem_mb)";
const TO_3: &str = ".origin = {name: .name, host: .host} | del(.name, .host)";

/// What a process says about itself; each version writes it in its own way.
#[derive(Debug, Clone)]
pub struct Heartbeat {
    pub pid: u64,
    name: String,
    host: String,
    cpu_pct: f64,
    mem: f64,
    sid: Option<String>,
}

#[derive(Serialize)]
struct Latest<'a> {
    pid: u64,
    cpu_pct: f64,
    mem_mib: f64,
    origin: Origin<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sid: Option<&'a str>,
}

#[derive(Serialize)]
struct Origin<'a> {
    name: &'a str,
    host: &'a str,
}

impl Heartbeat {
    /// Different for each number, which is its pid.
    pub fn numbered(number: u64) -> Self {
        Self {
            pid: number,
            name: format!("worker-{}", number % 97),
            host: format!("host-{}.example.com", number % 13),
            cpu_pct: (number % 1_000) as f64 / 10.0,
            mem: 64.5 + (number % 512) as f64,
            sid: number.is_multiple_of(3).then(|| format!("session-{number}")),
        }
    }

    /// The text that a publisher of this version sends.
    pub fn text(&self, version: u32) -> anyhow::Result<String> {
        let Self { pid, name, host, cpu_pct, mem, sid } = self;
        let mut payload = match version {
            1 => json!({"pid": pid, "name": name, "host": host, "cpu_pct": cpu_pct, "mem_mb": mem}),
            2 => json!({"pid": pid, "name": name, "host": host, "cpu_pct": cpu_pct, "mem_mib": mem}),
            _ => return self.latest(),
        };
        if let (Some(members), Some(sid)) = (payload.as_object_mut(), sid) {
            members.insert("sid".to_owned(), json!(sid));
        }
        Ok(payload.to_string())
    }

    /// As the latest version has it, with no help from the bus.
    pub fn latest(&self) -> anyhow::Result<String> {
        let Self { pid, name, host, cpu_pct, mem, sid } = self;
        let origin = Origin { name, host };
        let latest = Latest { pid: *pid, cpu_pct: *cpu_pct, mem_mib: *mem, origin, sid: sid.as_deref() };
        Ok(serde_json::to_string(&latest)?)
    }

    pub fn event(&self, version: u32) -> anyhow::Result<NewEvent> {
        Ok(NewEvent::new(TopicName::parse(TOPIC)?, Json::parse(Bytes::from(self.text(version)?))?))
    }
}

/// The schema of a version.
pub fn schema(version: u32) -> Value {
    let text = json!({"type": "string", "minLength": 1});
    let number = json!({"type": "number", "minimum": 0});
    let mut properties = json!({"pid": {"type": "integer", "minimum": 0}, "sid": {"type": "string"},
        "cpu_pct": {"type": "number", "minimum": 0, "maximum": 6400}});
    let mut required = vec!["pid", "cpu_pct"];
    let memory = if version == 1 { "mem_mb" } else { "mem_mib" };
    properties[memory] = number;
    required.push(memory);
    if version < 3 {
        (properties["name"], properties["host"]) = (text.clone(), text);
        required.extend(["name", "host"]);
    } else {
        properties["origin"] = json!({"type": "object", "properties": {"name": text, "host": text},
            "required": ["name", "host"], "additionalProperties": false});
        required.push("origin");
    }
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// A version, with the program that leads to it.
pub fn candidate(version: u32) -> anyhow::Result<SchemaCandidate> {
    let upcast = match version {
        1 => None,
        2 => Some(TO_2.to_owned()),
        _ => Some(TO_3.to_owned()),
    };
    let compat = upcast.is_some().then_some(Compat::Upcast);
    Ok(SchemaCandidate { compat, upcast, ..SchemaCandidate::new(SchemaDocument::new(schema(version), Vec::new())?) })
}

pub async fn register(bus: &Bus, versions: std::ops::RangeInclusive<u32>) -> anyhow::Result<()> {
    for version in versions {
        bus.register_schema(TOPIC, candidate(version)?).await?;
    }
    Ok(())
}

/// The steps as functions of an application.
pub fn functions() -> anyhow::Result<Vec<(TopicName, u32, UpcastFn)>> {
    let to_2: UpcastFn = Arc::new(|mut payload| {
        let members = payload.as_object_mut().ok_or("not an object")?;
        let memory = members.remove("mem_mb").ok_or("no mem_mb")?;
        members.insert("mem_mib".to_owned(), memory);
        Ok(payload)
    });
    let to_3: UpcastFn = Arc::new(|mut payload| {
        let members = payload.as_object_mut().ok_or("not an object")?;
        let mut origin = serde_json::Map::new();
        for name in ["name", "host"] {
            origin.insert(name.to_owned(), members.remove(name).unwrap_or_default());
        }
        members.insert("origin".to_owned(), Value::Object(origin));
        Ok(payload)
    });
    let topic = TopicName::parse(TOPIC)?;
    Ok(vec![(topic.clone(), 1, to_2), (topic, 2, to_3)])
}
