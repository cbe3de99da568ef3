//! The AsyncAPI document itself.

use prom_types::TopicName;
use serde_json::{Map, Value, json};

use super::CameOver;
use super::payload::ChannelMessage;

/// A topic, seen by a caller.
pub struct Channel {
    pub topic: TopicName,
    pub may_publish: bool,
    pub may_subscribe: bool,
    /// `None` where it has no schema.
    pub message: Option<ChannelMessage>,
}

/// Where the hub is, seen by a caller.
pub struct Servers<'a> {
    pub host: &'a str,
    pub came_over: CameOver,
}

pub fn write(servers: &Servers<'_>, channels: Vec<Channel>) -> Value {
    let (mut written, mut operations, mut messages) = (Map::new(), Map::new(), Map::new());
    for channel in channels {
        let name = channel.topic.to_string();
        let reference = json!({"$ref": format!("#/channels/{name}")});
        let mut operation = |verb: &str, action: &str| {
            let operation = json!({"action": action, "channel": reference,
                "messages": [{"$ref": format!("#/channels/{name}/messages/event")}]});
            operations.insert(format!("{verb}.{name}"), operation);
        };
        if channel.may_publish {
            operation("publish", "receive");
        }
        if channel.may_subscribe {
            operation("subscribe", "send");
        }
        let message = json!({"$ref": format!("#/components/messages/{name}")});
        written.insert(name.clone(), json!({"address": name, "messages": {"event": message}}));
        messages.insert(name, message_of(channel));
    }
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Promethean",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The topics of a hub and the latest version of their schemas.",
        },
        "defaultContentType": "application/json",
        "servers": servers_of(servers),
        "channels": written,
        "operations": operations,
        "components": {
            "messages": messages,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
        },
    })
}

fn servers_of(servers: &Servers<'_>) -> Value {
    let CameOver { tls, http_only, .. } = servers.came_over;
    let security = json!([{"$ref": "#/components/securitySchemes/bearer"}]);
    let protocol = if tls { "https" } else { "http" };
    let http = json!({"host": servers.host, "protocol": protocol, "security": security,
        "description": "POST /publish, GET /replay and the like; see /openapi.json."});
    if http_only {
        return json!({"http": http});
    }
    let protocol = if tls { "wss" } else { "ws" };
    let websocket = json!({"host": servers.host, "pathname": "/ws", "protocol": protocol, "security": security,
        "description": "Frames in JSON."});
    json!({"http": http, "websocket": websocket})
}

fn message_of(channel: Channel) -> Value {
    let name = channel.topic.as_str();
    let Some(ChannelMessage { version, schema, .. }) = channel.message else {
        return json!({"name": name, "title": name, "contentType": "application/json"});
    };
    let schema = prom_schema::embed(&schema, &format!("/components/messages/{name}/payload/schema"));
    let title = schema.get("title").and_then(Value::as_str).unwrap_or(name).to_owned();
    json!({
        "name": name,
        "title": title,
        "contentType": "application/json",
        "headers": {"type": "object", "properties": {"x-schema-version": {"const": version.to_string()}}},
        "payload": {"schemaFormat": format_of(&schema), "schema": schema},
        "x-schema-version": version,
    })
}

/// The draft that the schema names; without one it is the newest.
fn format_of(schema: &Value) -> String {
    let named = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let draft = ["draft-04", "draft-06", "draft-07", "2019-09"].into_iter().find(|draft| named.contains(draft));
    format!("application/schema+json;version={}", draft.unwrap_or("2020-12"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_told_as_the_schema_names_it() {
        for (named, told) in [
            ("http://json-schema.org/draft-07/schema#", "draft-07"),
            ("https://json-schema.org/draft/2019-09/schema", "2019-09"),
            ("https://json-schema.org/draft/2020-12/schema", "2020-12"),
        ] {
            assert_eq!(format_of(&json!({"$schema": named})), format!("application/schema+json;version={told}"));
        }
        assert!(format_of(&json!(true)).ends_with("2020-12"));
    }

    #[test]
    fn what_a_caller_may_not_do_is_no_operation() {
        let topic = TopicName::parse("a.b").unwrap();
        let channel = Channel { topic, may_publish: false, may_subscribe: true, message: None };
        let servers = Servers {
            host: "hub.example.com",
            came_over: CameOver { tls: true, http_only: false, websocket_port: None },
        };
        let document = write(&servers, vec![channel]);
        let operations: Vec<&String> = document["operations"].as_object().unwrap().keys().collect();
        assert_eq!(operations, ["subscribe.a.b"]);
        assert_eq!(document["servers"]["websocket"]["protocol"], "wss");
        let servers =
            Servers { host: "h", came_over: CameOver { tls: false, http_only: true, websocket_port: Some(8090) } };
        assert_eq!(write(&servers, Vec::new())["servers"].as_object().unwrap().len(), 1);
    }
}
