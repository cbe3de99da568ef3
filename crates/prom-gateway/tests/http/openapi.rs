//! `/openapi.json`.

use serde_json::Value;

use crate::home::Home;

async fn document() -> Value {
    Home::open().await.get("/openapi.json").await.json()
}

/// All of them, sorted.
const ROUTES: &[&str] = &[
    "delete /connections/{connection}",
    "delete /groups/{group}",
    "delete /topics/{topic}",
    "delete /topics/{topic}/schema",
    "delete /topics/{topic}/schema/settings",
    "delete /topics/{topic}/schema/upcasters/{from}",
    "delete /topics/{topic}/schema/{version}",
    "get /asyncapi.json",
    "get /at",
    "get /connections",
    "get /cursors",
    "get /diff",
    "get /dlq",
    "get /dlq/groups",
    "get /dlq/jobs",
    "get /dlq/jobs/{job}",
    "get /export",
    "get /flows",
    "get /flows/outbox/{name}/rows",
    "get /flows/{kind}/{name}",
    "get /groups",
    "get /groups/{group}",
    "get /groups/{group}/parked",
    "get /healthz",
    "get /lag",
    "get /latest-by-key",
    "get /list/{collection}",
    "get /metrics",
    "get /openapi.json",
    "get /partitions",
    "get /readyz",
    "get /registry",
    "get /replay",
    "get /search",
    "get /searches",
    "get /snap/{collection}/{key}",
    "get /stats",
    "get /topics",
    "get /topics/{topic}",
    "get /topics/{topic}/schema",
    "get /topics/{topic}/schema/diff",
    "get /topics/{topic}/schema/{version}",
    "get /topics/{topic}/snapshots",
    "get /trace/{id}",
    "get /whoami",
    "get /why",
    "patch /groups/{group}",
    "post /cursors",
    "post /dlq/jobs/{job}/cancel",
    "post /dlq/jobs/{job}/pause",
    "post /dlq/jobs/{job}/resume",
    "post /dlq/purge",
    "post /dlq/replay",
    "post /flows/feed/{name}/seek",
    "post /flows/outbox/{name}/drop",
    "post /flows/outbox/{name}/requeue",
    "post /flows/projection/{name}/rebuild",
    "post /flows/{kind}/{name}/restart",
    "post /groups/{group}/kick",
    "post /groups/{group}/release",
    "post /import",
    "post /publish",
    "post /replay",
    "post /skip",
    "post /topics/{topic}/cutover",
    "post /topics/{topic}/schema",
    "post /topics/{topic}/schema/check",
    "post /topics/{topic}/schema/prove",
    "post /topics/{topic}/snapshot",
    "put /registry/settings",
    "put /topics/{topic}",
    "put /topics/{topic}/schema/settings",
    "put /topics/{topic}/schema/upcasters/{from}",
];

#[tokio::test]
async fn every_route_is_described() {
    let document = document().await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let mut found: Vec<String> = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let methods = ["get", "put", "post", "patch", "delete"].into_iter().filter(|method| item.get(method).is_some());
        found.extend(methods.map(|method| format!("{method} {path}")));
    }
    found.sort_unstable();
    assert_eq!(found, ROUTES);
}

#[tokio::test]
async fn what_it_refers_to_is_there() {
    let document = document().await;
    let mut references = Vec::new();
    collect(&document, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
    assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                references.push(reference.clone());
            }
            members.values().for_each(|member| collect(member, references));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        _ => {}
    }
}

#[tokio::test]
async fn the_committed_copy_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../protocol/openapi.json");
    let committed: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(committed == document().await, "not current: run `cargo xtask gen`");
}
