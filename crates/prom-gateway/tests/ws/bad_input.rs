//! What strangers send: a clear error or a close with its reason; nothing is stored and no other client notices.

use std::time::Duration;

use prom_gateway::GatewayOptions;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::raw::{Farewell, Raw, frame};
use crate::scene::Scene;

const MIB: u64 = 1 << 20;

fn farewell(error: &str, close: u16) -> Farewell {
    Farewell { errors: vec![error.to_owned()], close: Some(close) }
}

/// Another client goes on as if nothing had happened, and the topic of the bad ones does not exist.
async fn undisturbed(scene: &Scene) {
    let mut other = scene.client().await;
    other.ok(json!({"op": "PUBLISH", "topic": "good", "payload": 1})).await;
    assert!(scene.bus.read("bad", 0, 0, 1).await.is_err(), "something bad was stored");
}

#[tokio::test]
async fn what_is_not_websocket_as_it_should_be_is_closed_with_the_reason() {
    let scene = Scene::open().await;
    let publish = br#"{"op":"PUBLISH","topic":"bad","payload":1}"#;
    let unmasked = [&[0x81, publish.len() as u8][..], publish].concat();
    let cases: Vec<(&str, Vec<u8>, u16)> = vec![
        ("binary", frame(0x82, publish.len() as u64, publish), 1003),
        ("not UTF-8", frame(0x81, 2, b"\xff\xfe"), 1007),
        ("not masked", unmasked, 1002),
        ("reserved bits", frame(0xC1, 1, b"x"), 1002),
        ("an unknown opcode", frame(0x83, 1, b"x"), 1002),
        ("a long ping", frame(0x89, 126, &[0; 126]), 1002),
        ("a continuation of nothing", frame(0x80, 1, b"x"), 1002),
        ("a message within a message", [frame(0x01, 1, b"{"), frame(0x81, 1, b"}")].concat(), 1002),
        ("HTTP again", b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(), 1002),
    ];
    for (name, bytes, close) in cases {
        let mut raw = Raw::client(&scene).await;
        raw.send_bytes(&bytes).await;
        assert_eq!(raw.farewell().await, farewell("bad_json", close), "{name}");
    }
    undisturbed(&scene).await;
}

#[tokio::test]
async fn what_is_not_one_object_with_the_right_fields_is_refused_and_the_socket_stays() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    for text in ["", "junk", "[]", "null", "{", "\u{0}", "{\"op\":\"AUTH\"} {}"] {
        client.send_text(text).await;
        assert_eq!(client.frame().await["code"], "bad_json", "{text:?}");
    }
    let deep =
        format!("{{\"op\":\"PUBLISH\",\"topic\":\"bad\",\"payload\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    client.send_text(&deep).await;
    assert_eq!(client.frame().await["code"], "too_large");
    for (frame, says) in [
        (json!({"op": "WHAT"}), "WHAT"),
        (json!({"op": 7}), "`op`"),
        (json!({"topic": "bad", "payload": 1}), "`op`"),
        (json!({"op": "PUBLISH", "topic": "bad"}), "`payload`"),
        (json!({"op": "PUBLISH", "topic": ["bad"], "payload": 1}), "`topic`"),
        (json!({"op": "PUBLISH", "topic": "bad/../x", "payload": 1}), "topic name"),
        (json!({"op": "PUBLISH", "topic": "system.bad", "payload": 1}), "belongs to the hub"),
        (json!({"op": "PUBLISH", "topic": "bad", "payload": 1, "opts": {"partition": 3}}), "partition"),
        (json!({"op": "PUBLISH", "topic": "bad", "payload": 1, "opts": {"headers": {"Nope": "x"}}}), "header"),
        (json!({"op": "PUBLISH", "topic": "bad", "payload": 1, "opts": {"id": "x"}}), "`opts.id`"),
        (json!({"op": "SUBSCRIBE", "topic": "bad", "opts": []}), "`opts`"),
        (json!({"op": "ACK", "topic": "bad", "group": "g"}), "`id`"),
        (json!({"op": "MODACK", "topic": "bad", "group": "g", "id": "x"}), "`id`"),
    ] {
        let told = client.err("bad_request", frame).await;
        assert!(told["msg"].as_str().unwrap().contains(says), "{told}");
    }
    let long_key = json!({"op": "PUBLISH", "topic": "bad", "payload": 1, "opts": {"key": "k".repeat(1025)}});
    client.err("too_large", long_key).await;
    client.ok(json!({"op": "PUBLISH", "topic": "good", "payload": 1})).await;
    undisturbed(&scene).await;
}

#[tokio::test]
async fn answers_carry_the_correlation_or_come_in_the_order_of_the_frames() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    let frames = [
        (json!({"op": "PUBLISH", "topic": "a", "payload": 1, "corr": "one"}), json!("one")),
        (json!({"op": "NO", "corr": 2}), json!(2)),
        (json!({"op": "PUBLISH", "topic": "a", "payload": 1}), Value::Null),
        (json!({"op": "SUBSCRIBE", "topic": "b", "group": "g", "corr": -3.5}), json!(-3.5)),
        (json!({"op": "UNSUBSCRIBE", "topic": "b", "group": "g", "corr": "four"}), json!("four")),
        (json!({"op": "PUBLISH", "events": [], "corr": "five"}), json!("five")),
        (json!({"op": "PAUSE", "topic": "b", "corr": "six"}), json!("six")),
        (json!({"op": "PUBLISH", "topic": "a", "payload": 1, "corr": "seven"}), json!("seven")),
    ];
    for (frame, _) in &frames {
        client.send(frame.clone()).await;
    }
    for (frame, corr) in &frames {
        assert_eq!(client.frame().await["corr"], *corr, "{frame}");
    }
}

#[tokio::test]
async fn a_frame_above_the_limit_is_refused_and_the_socket_closed() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    client.send(json!({"op": "PUBLISH", "topic": "bad", "payload": "x".repeat(MIB as usize)})).await;
    let (frames, close) = client.last_words().await;
    assert_eq!((frames.len(), &frames[0]["code"], close), (1, &json!("too_large"), Some(1009)));
    let text = "x".repeat(MIB as usize - 60);
    scene.client().await.ok(json!({"op": "PUBLISH", "topic": "good", "payload": text})).await;
    undisturbed(&scene).await;
}

#[tokio::test]
async fn a_hundred_megabytes_are_refused_when_they_are_announced() {
    let scene = Scene::open().await;
    for announced in [100 * MIB, u64::MAX] {
        let mut raw = Raw::client(&scene).await;
        raw.send_bytes(&frame(0x81, announced, b"{")).await;
        assert_eq!(raw.farewell().await, farewell("too_large", 1009));
    }
    undisturbed(&scene).await;
}

#[tokio::test]
async fn a_hundred_megabytes_that_stream_in_are_refused_and_not_kept() {
    let scene = Scene::open().await;
    let piece = vec![b' '; 64 * 1024];
    let announced = frame(0x81, 100 * MIB, b"");
    let in_fragments: Vec<u8> = frame(0x01, piece.len() as u64, &piece);
    for head in [announced, in_fragments] {
        let mut raw = Raw::client(&scene).await;
        raw.send_bytes(&head).await;
        let before = rss_bytes();
        for _ in 0..1600 {
            let next = if head.len() > 100 { frame(0x00, piece.len() as u64, &piece) } else { piece.clone() };
            // The hub may have hung up by now.
            if raw.socket.write_all(&next).await.is_err() {
                break;
            }
        }
        let grown = rss_bytes().saturating_sub(before);
        assert!(grown < 50 * MIB, "{grown} bytes more");
        assert_eq!(raw.farewell().await, farewell("too_large", 1009));
    }
    undisturbed(&scene).await;
}

#[tokio::test]
async fn half_a_frame_and_then_nothing_costs_a_socket_until_it_is_silent_for_too_long() {
    let options = GatewayOptions {
        ping_interval: Duration::from_millis(50),
        silence_limit: Duration::from_millis(200),
        ..GatewayOptions::default()
    };
    let scene = Scene::limited(options).await;
    let whole = frame(0x81, 43, br#"{"op":"PUBLISH","topic":"bad","payload":1} "#);
    for cut in [1, 3, 7, 20, whole.len() - 1] {
        let mut raw = Raw::client(&scene).await;
        raw.send_bytes(&whole[..cut]).await;
        assert_eq!(raw.farewell().await, Farewell { errors: vec![], close: Some(4001) }, "cut at {cut}");
    }
    undisturbed(&scene).await;
}

#[tokio::test]
async fn one_refused_frame_after_another_ends_the_connection() {
    let scene = Scene::open().await;
    let mut patient = scene.client().await;
    for _ in 0..3 {
        for _ in 0..400 {
            patient.send_text("junk").await;
        }
        patient.send(json!({"op": "PUBLISH", "topic": "good", "payload": 1})).await;
        for _ in 0..400 {
            assert_eq!(patient.frame().await["code"], "bad_json");
        }
        assert_eq!(patient.frame().await["op"], "OK", "a good one between them is a sign of life");
    }
    let mut raw = Raw::client(&scene).await;
    raw.send_bytes(&frame(0x81, 1, b"x").repeat(2000)).await;
    let farewell = raw.farewell().await;
    assert_eq!(farewell.close, Some(4200));
    assert_eq!(farewell.errors.len(), 1001, "each was answered until then");
    undisturbed(&scene).await;
}

#[tokio::test]
async fn a_client_that_closes_is_answered_with_a_close_and_its_last_frames_count() {
    let scene = Scene::open().await;
    let mut raw = Raw::client(&scene).await;
    let publish = br#"{"op":"PUBLISH","topic":"good","payload":1}"#;
    let bytes = [frame(0x81, publish.len() as u64, publish), frame(0x88, 2, &[0x03, 0xE8])].concat();
    raw.send_bytes(&bytes).await;
    assert_eq!(raw.frame().await["offset"], 0);
    assert_eq!(raw.farewell().await, Farewell { errors: vec![], close: Some(1000) });
}

/// Memory of this process.
pub fn rss_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}
