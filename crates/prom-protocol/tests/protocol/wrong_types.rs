//! A field that is missing or has the wrong type is refused by its name, and the correlation is kept.

use bytes::Bytes;
use prom_protocol::{ErrorCode, Request};
use serde_json::{Value, json};

const ID: &str = "0192f0c1-2345-7abc-8def-0123456789ab";

/// Frames that are in order and have every field they can have.
fn whole() -> Vec<Value> {
    let opts = json!({"id": ID, "exact": true, "ts": 1, "key": "k", "headers": {"x-a": "b"}, "tags": ["t"],
        "caused_by": [ID], "sid": "s", "partition": 0});
    let of_group = json!({"from": "latest", "ts": 1, "afterId": ID, "offset": 1, "mode": "shared", "order": "none",
        "park": true, "filter": ".", "maxAttempts": 5, "backoff": {"firstMs": 1, "maxMs": 2}, "partitions": 2, "expireAfter": 1,
        "topics": ["b"], "batchSize": 1, "maxInFlight": 1, "ackTimeoutMs": 1, "normalize": false, "memberId": "m"});
    vec![
        json!({"op": "AUTH", "token": "t", "features": ["batch"]}),
        json!({"op": "PUBLISH", "topic": "a", "payload": 1, "opts": opts}),
        json!({"op": "PUBLISH", "events": [{"topic": "a", "payload": 1}], "atomic": false}),
        json!({"op": "SUBSCRIBE", "topic": "a", "group": "g", "opts": of_group}),
        json!({"op": "UNSUBSCRIBE", "topic": "a", "group": "g"}),
        json!({"op": "PAUSE", "topic": "a", "group": "g"}),
        json!({"op": "RESUME", "topic": "a", "group": "g"}),
        json!({"op": "ACK", "topic": "a", "group": "g", "id": ID}),
        json!({"op": "ACK", "topic": "a", "group": "g", "ids": [ID]}),
        json!({"op": "ACK", "topic": "a", "group": "g", "partition": 0, "offsets": [[0, 1]]}),
        json!({"op": "NACK", "topic": "a", "group": "g", "id": ID, "reason": "r", "delay_ms": 1}),
        json!({"op": "MODACK", "topic": "a", "group": "g", "id": ID, "extend_ms": 1}),
    ]
}

/// At least one of these values is wrong for any field but the payload.
fn wrong() -> Vec<Value> {
    vec![json!(true), json!(-1.5), json!("no such thing"), json!([[{}]]), json!({"a": 1}), json!([1])]
}

/// The name of the field that this frame is refused for.
fn refusal(frame: &Value) -> Option<String> {
    let text = Bytes::from(frame.to_string());
    let refused = Request::read(&text).err()?;
    assert_eq!(refused.error.code(), ErrorCode::BadRequest, "{frame}");
    assert_eq!(refused.corr.unwrap().as_json(), b"7", "{frame}");
    Some(refused.error.to_string())
}

/// Every place in a frame that has a name, as a pointer and as messages name it.
fn places(frame: &Value) -> Vec<(String, String)> {
    let mut places = Vec::new();
    for (name, value) in frame.as_object().unwrap() {
        places.push((format!("/{name}"), name.clone()));
        for (inner, value) in value.as_object().filter(|_| name == "opts").into_iter().flatten() {
            places.push((format!("/opts/{inner}"), format!("opts.{inner}")));
            for deeper in value.as_object().filter(|_| inner == "backoff").into_iter().flatten() {
                places.push((format!("/opts/{inner}/{}", deeper.0), format!("opts.{inner}.{}", deeper.0)));
            }
        }
    }
    places
}

#[test]
fn every_field_of_a_wrong_type_is_named() {
    for mut frame in whole() {
        frame["corr"] = json!(7);
        assert_eq!(refusal(&frame), None, "{frame}");
        for (pointer, name) in places(&frame) {
            if ["payload", "corr"].contains(&&*name) {
                continue;
            }
            let mut refused = 0;
            for wrong in wrong() {
                let mut frame = frame.clone();
                *frame.pointer_mut(&pointer).unwrap() = wrong;
                // An unknown op is named by itself.
                let quoted = if name == "op" { "op".to_owned() } else { format!("`{name}") };
                if let Some(told) = refusal(&frame) {
                    assert!(told.contains(&quoted), "{frame}: {told}");
                    refused += 1;
                }
            }
            assert!(refused >= 4, "{name} of {frame} takes nearly anything");
        }
    }
}

#[test]
fn a_missing_field_is_named() {
    let required = [
        ("AUTH", &[][..]),
        ("PUBLISH", &["topic", "payload"]),
        ("SUBSCRIBE", &["topic"]),
        ("UNSUBSCRIBE", &["topic"]),
        ("PAUSE", &["topic"]),
        ("RESUME", &["topic"]),
        ("ACK", &["topic", "group", "id"]),
        ("NACK", &["topic", "group", "id"]),
        ("MODACK", &["topic", "group", "id", "extend_ms"]),
    ];
    let full = json!({"topic": "a", "group": "g", "id": ID, "payload": 1, "extend_ms": 1, "corr": 7});
    for (op, fields) in required {
        let mut frame = full.clone();
        frame["op"] = json!(op);
        assert_eq!(refusal(&frame), None, "{frame}");
        for field in fields {
            let mut frame = frame.clone();
            frame.as_object_mut().unwrap().remove(*field);
            assert_eq!(refusal(&frame).unwrap(), format!("field `{field}` is missing"));
            if *field != "payload" {
                frame[*field] = Value::Null;
                assert_eq!(refusal(&frame).unwrap(), format!("field `{field}` is missing"), "null is nothing");
            }
        }
    }
    assert_eq!(refusal(&json!({"corr": 7})).unwrap(), "field `op` is missing");
}

#[test]
fn an_unknown_op_is_told_which_ones_there_are() {
    for op in ["publish", "PUBLISHED", "", &"X".repeat(5000)] {
        let told = refusal(&json!({"op": op, "corr": 7})).unwrap();
        assert!(told.contains("AUTH, PUBLISH, SUBSCRIBE") && told.len() < 300, "{told}");
    }
}

#[test]
fn unknown_fields_are_ignored() {
    for mut frame in whole() {
        frame["corr"] = json!(7);
        frame["something"] = json!({"new": [1, 2]});
        if let Some(opts) = frame.get_mut("opts") {
            opts["something"] = json!({"new": [1, 2]});
        }
        assert_eq!(refusal(&frame), None, "{frame}");
    }
}

#[test]
fn lists_and_reasons_have_limits() {
    let read = |frame: Value| Request::read(&Bytes::from(frame.to_string())).unwrap_err().error.code();
    let id = |n: usize| format!("0192f0c1-2345-7abc-8def-{n:012x}");
    let many = |count: usize| json!((0..count).map(id).collect::<Vec<_>>());
    let settle = |ids: Value| json!({"op": "ACK", "topic": "a", "group": "g", "ids": ids});
    assert!(Request::read(&Bytes::from(settle(many(10_000)).to_string())).is_ok());
    assert_eq!(read(settle(many(10_001))), ErrorCode::TooLarge);
    assert_eq!(read(settle(json!([ID, ID]))), ErrorCode::BadRequest);
    let events = vec![json!({"topic": "a", "payload": 1}); 10_001];
    assert_eq!(read(json!({"op": "PUBLISH", "events": events})), ErrorCode::TooLarge);
    let backwards = json!({"op": "ACK", "topic": "a", "group": "g", "offsets": [[2, 1]]});
    assert_eq!(read(backwards), ErrorCode::BadRequest);
    let reason = "r".repeat(4097);
    assert_eq!(
        read(json!({"op": "NACK", "topic": "a", "group": "g", "id": ID, "reason": reason})),
        ErrorCode::BadRequest
    );
}
