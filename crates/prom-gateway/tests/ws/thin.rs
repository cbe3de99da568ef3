//! Tails that leave events out: by a filter that the hub runs, and above a rate per second.

use serde_json::{Value, json};

use crate::scene::{Client, Scene};

/// Frames until the counts add up to so many events seen: the payloads that came, and the counts.
async fn until_seen(client: &mut Client, count: u64) -> (Vec<Value>, [u64; 4], Vec<Value>) {
    let (mut payloads, mut counts, mut errors) = (Vec::new(), [0; 4], Vec::new());
    while counts[0] < count {
        let frame = client.frame().await;
        match frame["op"].as_str() {
            Some("EVENT") => payloads.push(frame["event"]["payload"].clone()),
            Some("THINNED") => {
                assert_eq!(frame["topic"], "a");
                let told = ["seen", "matched", "sent", "failed"].map(|name| frame[name].as_u64().unwrap());
                counts = std::array::from_fn(|at| counts[at] + told[at]);
                errors.extend(frame.get("error").cloned());
            }
            _ => panic!("{frame}"),
        }
    }
    (payloads, counts, errors)
}

async fn tail(scene: &Scene, opts: Value) -> Client {
    let mut client = scene.client().await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "a", "opts": opts})).await;
    client
}

#[tokio::test]
async fn a_filter_lets_through_what_it_matches_and_the_rest_is_counted() {
    let scene = Scene::open().await;
    let mut client = tail(&scene, json!({"filter": ".payload % 3 == 0"})).await;
    for n in 0..10 {
        scene.bus.publish("a", json!(n)).await.unwrap();
    }
    scene.bus.publish("a", json!("no number")).await.unwrap();
    let (payloads, counts, errors) = until_seen(&mut client, 11).await;
    assert_eq!(payloads, [json!(0), json!(3), json!(6), json!(9)]);
    assert_eq!(counts, [11, 4, 4, 1]);
    assert_eq!(errors.len(), 1, "{errors:?}");
}

#[tokio::test]
async fn no_more_come_in_a_second_than_were_asked_for() {
    let scene = Scene::open().await;
    let mut client = tail(&scene, json!({"maxPerSecond": 50})).await;
    let events = (0..2000).map(|n| ("a", json!(n)));
    for (topic, payload) in events {
        scene.bus.publish(topic, payload).await.unwrap();
    }
    let begin = std::time::Instant::now();
    let (payloads, counts, _) = until_seen(&mut client, 2000).await;
    let [seen, matched, sent, failed] = counts;
    assert_eq!((seen, matched, failed, payloads.len() as u64), (2000, 2000, 0, sent));
    // Publishing took a while too: what is sent in a second is bounded, and more than nothing.
    let seconds = begin.elapsed().as_secs() + 10;
    assert!(sent >= 10 && sent <= 50 * seconds && sent < 2000, "{sent} in {seconds} s");
}

#[tokio::test]
async fn what_cannot_be_left_out_is_refused() {
    let scene = Scene::open().await;
    let mut client = scene.client().await;
    for opts in [json!({"filter": ".payload >"}), json!({"maxPerSecond": 0}), json!({"maxPerSecond": "many"})] {
        client.err("bad_request", json!({"op": "SUBSCRIBE", "topic": "a", "opts": opts})).await;
    }
    let in_group = json!({"op": "SUBSCRIBE", "topic": "a", "group": "g", "opts": {"maxPerSecond": 5}});
    client.err("bad_request", in_group).await;
    assert!(scene.bus.groups().await.unwrap().is_empty());
}
