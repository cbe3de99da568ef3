//! A group that one hub serves, and clients that are connected to another.

use std::sync::Arc;
use std::time::Duration;

use prom_auth::AuthOptions;
use prom_engine::{Owner, TopicSettings};
use prom_store::{MemoryStore, SystemClock};
use prom_types::GroupName;
use serde_json::{Value, json};

use crate::raw::Raw;
use crate::scene::{Client, Scene, auth, token, until};

const TTL: Duration = Duration::from_secs(10);

/// Red owns the group `g`, because it has a subscriber there; blue does not.
struct Hubs {
    red: Scene,
    blue: Scene,
    at_red: Client,
}

impl Hubs {
    async fn open() -> Self {
        Self::with(AuthOptions::default()).await
    }

    async fn with(options: AuthOptions) -> Self {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
        let red = Scene::among_others(&store, options.clone(), TTL).await;
        red.bus.create_topic(TopicSettings::new("orders").unwrap().partitions(4)).await.unwrap();
        let blue = Scene::among_others(&store, options.clone(), TTL).await;
        let mut at_red = match options.jwt_secret {
            Some(_) => red.client_with(&["subscribe:**"]).await,
            None => red.client().await,
        };
        at_red.ok(subscribe(json!({"maxInFlight": 1}))).await;
        // It takes nothing: what is published comes to the other.
        at_red.ok(json!({"op": "PAUSE", "topic": "orders", "group": "g"})).await;
        Self { red, blue, at_red }
    }

    async fn publish(&self, numbers: std::ops::Range<u64>) {
        for number in numbers {
            self.red.bus.publish("orders", json!(number)).partition(0).await.unwrap();
        }
    }
}

/// Red lives in a world of its own, which can end without a word; its time is short.
struct Mortal {
    red: Scene,
    red_world: tokio::runtime::Runtime,
    blue: Scene,
}

impl Mortal {
    async fn open() -> Self {
        let ttl = Duration::from_secs(1);
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
        let red_world = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let at_red = store.clone();
        let red = red_world.spawn(async move { Scene::among_others(&at_red, AuthOptions::default(), ttl).await });
        let red = red.await.unwrap();
        let blue = Scene::among_others(&store, AuthOptions::default(), ttl).await;
        Self { red, red_world, blue }
    }
}

fn subscribe(opts: Value) -> Value {
    json!({"op": "SUBSCRIBE", "topic": "orders", "group": "g", "opts": opts})
}

fn frame(op: &str) -> Value {
    json!({"op": op, "topic": "orders", "group": "g"})
}

/// Resumes; the event that comes by it may overtake the answer.
async fn resumed(client: &mut Client) -> Value {
    client.send(frame("RESUME")).await;
    let frames = [client.frame().await, client.frame().await];
    frames.into_iter().find(|frame| frame["op"] == "EVENT").expect("an event")
}

#[tokio::test]
async fn a_client_of_another_hub_gets_events_and_settles_them() {
    let hubs = Hubs::open().await;
    let mut client = hubs.blue.client().await;
    client.ok(subscribe(json!({}))).await;
    hubs.publish(0..2).await;
    assert_eq!(client.take_acked(2).await, [json!(0), json!(1)]);
    hubs.publish(2..3).await;
    let third = client.event().await;
    let id = &third["event"]["id"];
    client.ok(json!({"op": "MODACK", "topic": "orders", "group": "g", "id": id, "extend_ms": 60_000})).await;
    let nack = json!({"op": "NACK", "topic": "orders", "group": "g", "id": id, "reason": "later", "delay_ms": 300});
    client.ok(nack).await;
    let again = client.event().await;
    assert_eq!((&again["event"]["id"], &again["ctx"]["attempt"]), (id, &json!(2)));
    client.ack(&again).await;
    assert_eq!(hubs.blue.bus.lag("orders", "g").await.unwrap().lag_events, 0);
    let group = GroupName::parse("g").unwrap();
    assert!(matches!(hubs.blue.bus.owner_of(&group).await.unwrap(), Owner::There { .. }));
}

#[tokio::test]
async fn answers_keep_the_order_of_the_frames_whichever_hub_gives_them() {
    let hubs = Hubs::open().await;
    let mut client = hubs.blue.client().await;
    client.ok(subscribe(json!({}))).await;
    hubs.publish(0..1).await;
    let id = client.event().await["event"]["id"].clone();
    for number in 0..50 {
        client.send(json!({"op": "PUBLISH", "topic": "other", "payload": number, "corr": format!("p{number}")})).await;
        let (topic, group) = ("orders", "g");
        client.send(json!({"op": "ACK", "topic": topic, "group": group, "id": id, "corr": format!("a{number}")})).await;
        client.send(json!({"op": "SUBSCRIBE", "topic": topic, "group": group, "corr": format!("s{number}")})).await;
    }
    for number in 0..50 {
        for (kind, op) in [("p", "OK"), ("a", "OK"), ("s", "ERR")] {
            let answer = client.frame().await;
            assert_eq!((&answer["corr"], &answer["op"]), (&json!(format!("{kind}{number}")), &json!(op)), "{answer}");
        }
    }
}

#[tokio::test]
async fn members_at_both_hubs_share_the_events_of_one_partition() {
    let mut hubs = Hubs::open().await;
    hubs.at_red.ok(frame("RESUME")).await;
    let mut client = hubs.blue.client().await;
    client.ok(subscribe(json!({"maxInFlight": 1}))).await;
    hubs.publish(0..2).await;
    let (here, there) = (hubs.at_red.event().await, client.event().await);
    let mut numbers = [here["event"]["payload"].as_u64(), there["event"]["payload"].as_u64()];
    numbers.sort_unstable();
    assert_eq!(numbers, [Some(0), Some(1)]);
    client.ack(&there).await;
    hubs.at_red.ack(&here).await;
}

#[tokio::test]
async fn pausing_and_leaving_reach_the_hub_that_serves() {
    let mut hubs = Hubs::open().await;
    let mut client = hubs.blue.client().await;
    client.ok(subscribe(json!({"memberId": "away"}))).await;
    client.ok(frame("PAUSE")).await;
    hubs.publish(0..1).await;
    let why = hubs.red.bus.why("orders", "g").await.unwrap();
    let status = why.partitions[0].status.as_ref().unwrap();
    assert_eq!((status.subscribers, status.paused_subscribers), (2, 2));
    resumed(&mut client).await;
    client.ok(frame("UNSUBSCRIBE")).await;
    // Its lease went back before that was answered.
    assert_eq!(resumed(&mut hubs.at_red).await["ctx"]["attempt"], 1);
    // And again, on the same connection.
    client.ok(subscribe(json!({}))).await;
    hubs.publish(1..2).await;
    assert_eq!(client.take_acked(1).await, [json!(1)]);
}

#[tokio::test]
async fn a_connection_that_breaks_gives_its_leases_back_through_both_hubs() {
    let mut hubs = Hubs::open().await;
    let mut client = hubs.blue.client().await;
    client.ok(subscribe(json!({}))).await;
    hubs.publish(0..1).await;
    client.event().await;
    drop(client);
    assert_eq!(resumed(&mut hubs.at_red).await["ctx"]["attempt"], 1);
}

async fn links(scene: &Scene) -> String {
    let metrics = reqwest::get(format!("http://{}/metrics", scene.server.address())).await.unwrap();
    let text = metrics.text().await.unwrap();
    text.lines().find(|line| line.starts_with("hub_links ")).unwrap().to_owned()
}

#[tokio::test]
async fn a_link_lasts_as_long_as_a_subscription_goes_through_it() {
    let hubs = Hubs::open().await;
    let mut client = hubs.blue.client().await;
    assert_eq!(links(&hubs.blue).await, "hub_links 0");
    client.ok(subscribe(json!({}))).await;
    client.ok(json!({"op": "SUBSCRIBE", "topic": "others.*", "group": "g"})).await;
    assert_eq!(links(&hubs.blue).await, "hub_links 1", "one for both");
    client.ok(frame("UNSUBSCRIBE")).await;
    client.ok(json!({"op": "UNSUBSCRIBE", "topic": "others.*", "group": "g"})).await;
    until("the link ends", || async { links(&hubs.blue).await == "hub_links 0" }).await;
    // In one go: the second must not overtake the first.
    for _ in 0..20 {
        client.send(subscribe(json!({}))).await;
        client.send(frame("UNSUBSCRIBE")).await;
    }
    for _ in 0..40 {
        assert_eq!(client.frame().await["op"], "OK");
    }
    client.ok(subscribe(json!({}))).await;
    assert_eq!(links(&hubs.blue).await, "hub_links 1");
    drop(client);
    until("the link ends", || async { links(&hubs.blue).await == "hub_links 0" }).await;
}

#[tokio::test]
async fn rights_are_those_of_the_client_and_no_client_passes_for_a_hub() {
    let hubs = Hubs::with(auth()).await;
    let mut client = hubs.blue.client_with(&["subscribe:orders", "publish:orders"]).await;
    client.ok(subscribe(json!({}))).await;
    hubs.publish(0..1).await;
    client.take_acked(1).await;
    client.err("forbidden", json!({"op": "SUBSCRIBE", "topic": "secrets", "group": "g"})).await;
    // Fewer rights end what they do not cover, also where another hub serves it.
    let narrow = token("alpha", &["publish:orders"]);
    client.send(json!({"op": "AUTH", "token": narrow})).await;
    let mut ops = [client.frame().await, client.frame().await].map(|frame| frame["op"].as_str().unwrap().to_owned());
    ops.sort_unstable();
    assert_eq!(ops, ["ERR", "OK"]);
    until("it left the group", || async {
        let why = hubs.red.bus.why("orders", "g").await.unwrap();
        why.partitions[0].status.as_ref().is_some_and(|status| status.subscribers == 1)
    })
    .await;
    for features in [json!(["relay"]), json!(["relay", "batch"])] {
        let mut pretender = hubs.blue.connect().await;
        let client_token = token("alpha", &["subscribe:**", "publish:**", "admin:**", "ops:**"]);
        pretender.err("jwt_invalid", json!({"op": "AUTH", "token": client_token, "features": features})).await;
        pretender.err("no_token", json!({"op": "AUTH", "features": features})).await;
    }
}

#[tokio::test]
async fn a_member_behind_another_hub_lives_as_long_as_its_client_is_heard() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
    let red = Scene::among_others(&store, AuthOptions::default(), TTL).await;
    red.bus.create_topic(TopicSettings::new("orders").unwrap().partitions(4)).await.unwrap();
    let blue = Scene::among_others(&store, AuthOptions::default(), TTL).await;
    let member = |name: &str| subscribe(json!({"mode": "partitioned", "memberId": name, "ttlMs": 600}));
    let mut owner = red.client().await;
    owner.ok(subscribe(json!({"mode": "partitioned", "memberId": "near"}))).await;
    let owned = |name: &'static str| {
        let bus = red.bus.clone();
        async move {
            let owners = bus.partition_owners("orders", "g").await.unwrap().unwrap();
            owners.partitions.iter().filter(|one| one.owner.as_deref() == Some(name)).count()
        }
    };
    // It answers pings, and says nothing else.
    let mut quiet = blue.client().await;
    quiet.ok(member("quiet")).await;
    let reading = tokio::spawn(async move { while quiet.message().await.is_some() {} });
    until("quiet has its half", || async { owned("quiet").await == 2 }).await;
    tokio::time::sleep(Duration::from_millis(2000)).await;
    assert_eq!(owned("quiet").await, 2, "it lives");
    // This one does not even answer pings.
    let mut mute = Raw::client(&blue).await;
    mute.send(member("mute")).await;
    assert_eq!(mute.frame().await["op"], "OK");
    until("mute has a part", || async { owned("mute").await == 1 }).await;
    until("mute is taken for gone", || async { owned("mute").await == 0 }).await;
    let told = mute.frame().await;
    assert_eq!((&told["op"], &told["code"], &told["topic"]), (&json!("ERR"), &json!("fenced"), &json!("orders")));
    assert_eq!(owned("quiet").await + owned("near").await, 4);
    reading.abort();
}

#[tokio::test]
async fn a_slow_client_of_another_hub_holds_back_no_other() {
    let mut hubs = Hubs::open().await;
    hubs.at_red.ok(frame("UNSUBSCRIBE")).await;
    let mut slow = Raw::client(&hubs.blue).await;
    slow.send(subscribe(json!({"maxInFlight": 100_000, "batchSize": 10_000}))).await;
    assert_eq!(slow.frame().await["op"], "OK");
    let large = "x".repeat(100_000);
    for _ in 0..200 {
        hubs.red.bus.publish("orders", json!(large)).partition(0).await.unwrap();
    }
    let mut quick = hubs.blue.client().await;
    quick.ok(subscribe(json!({}))).await;
    hubs.red.bus.publish("orders", json!("small")).partition(1).await.unwrap();
    loop {
        let event = quick.event().await;
        if event["event"]["payload"] == "small" {
            break;
        }
    }
}

#[tokio::test]
async fn questions_about_a_group_are_answered_by_the_hub_that_serves_it() {
    let hubs = Hubs::open().await;
    hubs.publish(0..3).await;
    let mut client = hubs.blue.client().await;
    client.ok(subscribe(json!({"memberId": "away"}))).await;
    client.event().await;
    let http = reqwest::Client::new();
    let ask = |path: &str| {
        let request = http.get(format!("http://{}{path}", hubs.blue.server.address()));
        async move { request.send().await.unwrap().json::<Value>().await.unwrap() }
    };
    let why = ask("/why?topic=orders&group=g").await;
    assert_eq!(why["partitions"][0]["status"]["subscribers"], 2, "{why}");
    assert_eq!(ask("/partitions?topic=orders&group=g").await["partitions"][0]["in_flight"], 3);
    assert_eq!(ask("/lag?topic=orders&group=g").await["inFlight"], 3);
    assert_eq!(ask("/groups/g").await["subscribers"], 2);
    let moved = http
        .post(format!("http://{}/cursors", hubs.blue.server.address()))
        .json(&json!({"topic": "orders", "partition": 0, "group": "g", "from": "latest"}))
        .send()
        .await
        .unwrap();
    let (status, body) = (moved.status(), moved.text().await.unwrap());
    assert_eq!(status, 200, "{body}");
    assert_eq!(hubs.red.bus.cursor("orders", "g").await.unwrap()[0].offset, 3);
}

#[tokio::test]
async fn the_audit_trail_names_the_caller_also_where_another_hub_answers() {
    let hubs = Hubs::with(auth()).await;
    hubs.publish(0..1).await;
    let skipped = reqwest::Client::new()
        .post(format!("http://{}/skip", hubs.blue.server.address()))
        .bearer_auth(token("alpha/é", &["admin:**"]))
        .header("x-prom-subject", "echo")
        .json(&json!({"topic": "orders", "group": "g", "partition": 0, "offset": 0}))
        .send()
        .await
        .unwrap();
    let (status, body) = (skipped.status(), skipped.text().await.unwrap());
    assert_eq!(status, 200, "{body}");
    let trail = hubs.red.bus.read("system.audit", 0, 0, 10).await.unwrap();
    let entry: Value = trail.events[0].payload().unwrap();
    assert_eq!((&entry["action"], &entry["subject"]), (&json!("skip"), &json!("alpha/é")));
}

#[tokio::test]
async fn when_the_serving_hub_dies_a_subscription_goes_on_and_its_client_hears_of_its_partitions() {
    let Mortal { red, red_world, blue } = Mortal::open().await;
    blue.bus.create_topic(TopicSettings::new("orders").unwrap().partitions(4)).await.unwrap();
    let mut near = red.client().await;
    near.ok(subscribe(json!({"mode": "partitioned", "memberId": "near"}))).await;
    let mut away = blue.client().await;
    away.ok(subscribe(json!({"mode": "partitioned", "memberId": "away", "assignments": true}))).await;
    let mut mine: Vec<u32> = Vec::new();
    while mine.len() < 2 {
        let told = away.frame().await;
        assert_eq!(told["op"], "ASSIGNED", "{told}");
        mine.extend(serde_json::from_value::<Vec<u32>>(told["partitions"].clone()).unwrap());
    }
    mine.sort_unstable();
    red.bus.publish("orders", json!("before")).partition(mine[0]).await.unwrap();
    let before = away.event().await;
    red_world.shutdown_background();

    let revoked = away.frame().await;
    assert_eq!((&revoked["op"], &revoked["partitions"]), (&json!("REVOKED"), &json!(mine)), "{revoked}");
    let mut all = Vec::new();
    let again = loop {
        match away.frame().await {
            frame if frame["op"] == "EVENT" => break frame,
            frame => {
                assert_eq!(frame["op"], "ASSIGNED", "{frame}");
                all.extend(frame["partitions"].as_array().unwrap().iter().filter_map(Value::as_u64));
            }
        }
    };
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3], "no other is left");
    assert_eq!(again["event"]["id"], before["event"]["id"]);
    assert_eq!(again["ctx"]["attempt"], 1, "it costs no attempt");
    away.ack(&again).await;
    blue.bus.publish("orders", json!("after")).partition(3).await.unwrap();
    assert_eq!(away.take_acked(1).await, [json!("after")]);
    assert_eq!(blue.bus.lag("orders", "g").await.unwrap().lag_events, 0);
}

#[tokio::test]
async fn a_paused_subscription_stays_paused_wherever_it_moves_and_one_that_leaves_meanwhile_is_gone() {
    let Mortal { red, red_world, blue } = Mortal::open().await;
    red.client().await.ok(subscribe(json!({}))).await;
    let (mut paused, mut leaving) = (blue.client().await, blue.client().await);
    paused.ok(subscribe(json!({}))).await;
    paused.ok(frame("PAUSE")).await;
    leaving.ok(subscribe(json!({}))).await;
    red_world.shutdown_background();
    leaving.ok(frame("UNSUBSCRIBE")).await;
    blue.bus.publish("orders", json!(1)).await.unwrap();
    until("blue serves the group", || async {
        let why = blue.bus.why("orders", "g").await;
        let status = why.ok().and_then(|why| why.partitions.into_iter().next()?.status);
        status.is_some_and(|status| (status.subscribers, status.paused_subscribers) == (1, 1))
    })
    .await;
    resumed(&mut paused).await;
}
