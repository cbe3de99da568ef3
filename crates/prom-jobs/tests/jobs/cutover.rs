//! A topic's history in the topic of its latest version.

use std::sync::Arc;

use prom_engine::{Bus, BusOptions, SchemaCandidate, TopicOffsets, TopicSettings};
use prom_jobs::{CollectionName, Cutover, CutoverPlan, CutoverTarget, JobError, UnfitEvent};
use prom_store::{DocumentWrite, MemoryStore, SystemClock};
use prom_types::TopicName;
use serde_json::{Value, json};

use crate::{TOPIC, bus, candidate, heartbeat, publish, renamed};

async fn start(bus: &Bus, target: CutoverTarget, unfit: UnfitEvent) -> Result<Cutover, JobError> {
    let plan = CutoverPlan::make(bus, TOPIC, target).await?;
    Cutover::start(bus, plan, unfit).await
}

async fn to_version(bus: &Bus) -> Cutover {
    start(bus, CutoverTarget::OfItsVersion, UnfitEvent::Stop).await.unwrap()
}

async fn finish(cutover: &mut Cutover) {
    while !cutover.step().await.unwrap().done {}
}

#[tokio::test]
async fn every_event_arrives_once_in_its_partition_and_in_order_also_after_a_stop() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new(TOPIC).unwrap().partitions(3)).await.unwrap();
    publish(&bus, 0..2500).await;
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    bus.register_schema(TOPIC, renamed()).await.unwrap();
    let mut cutover = to_version(&bus).await;
    assert_eq!(cutover.plan().place.to_string(), "heartbeat.received.v2");
    cutover.step().await.unwrap();
    drop(cutover);
    let mut cutover = to_version(&bus).await;
    assert_eq!(cutover.progress().written, 50, "it goes on where the last one ended");
    publish(&bus, 2500..2600).await;
    finish(&mut cutover).await;
    let progress = cutover.progress().clone();
    assert_eq!((progress.read, progress.written, progress.skipped, progress.left), (2600, 2600, 0, 0));
    let source = bus.read_topic(TOPIC, TopicOffsets::default(), 5000).await.unwrap().events;
    let moved = bus.read_topic("heartbeat.received.v2", TopicOffsets::default(), 5000).await.unwrap().events;
    assert_eq!(source.len(), moved.len());
    for (before, after) in source.iter().zip(&moved) {
        assert_eq!(
            (before.id(), before.partition(), before.key(), before.ts()),
            (after.id(), after.partition(), after.key(), after.ts())
        );
        let payload: Value = after.payload().unwrap();
        assert_eq!((&payload["mem_mib"], payload.get("mem_mb")), (&json!(1), None));
    }
    finish(&mut to_version(&bus).await).await;
    assert_eq!(
        bus.read_topic("heartbeat.received.v2", TopicOffsets::default(), 5000).await.unwrap().events.len(),
        2600
    );
}

#[tokio::test]
async fn what_does_not_fit_stops_it_or_is_counted() {
    let bus = bus().await;
    publish(&bus, 0..10).await;
    bus.publish(TOPIC, json!({"pid": "text", "mem_mb": 1})).await.unwrap();
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    bus.register_schema(TOPIC, renamed()).await.unwrap();
    let mut stops = to_version(&bus).await;
    let told = stops.step().await.unwrap_err();
    assert!(matches!(&told, JobError::Unfit { reason, offset: 10, .. } if reason.contains("/pid")), "{told}");
    let mut skips = start(&bus, CutoverTarget::OfItsVersion, UnfitEvent::Skip).await.unwrap();
    finish(&mut skips).await;
    assert_eq!((skips.progress().written, skips.progress().skipped), (10, 1));
}

#[tokio::test]
async fn of_two_at_once_one_stops_and_nothing_is_doubled() {
    let bus = bus().await;
    publish(&bus, 0..1500).await;
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    let mut one = to_version(&bus).await;
    let mut other = to_version(&bus).await;
    other.step().await.unwrap();
    assert!(matches!(one.step().await, Err(JobError::Running { .. })));
    finish(&mut other).await;
    let moved = bus.read_topic("heartbeat.received.v1", TopicOffsets::default(), 5000).await.unwrap().events;
    assert_eq!(moved.len(), 1500);
    assert!(matches!(
        CutoverPlan::make(&bus, "no.schema", CutoverTarget::OfItsVersion).await,
        Err(JobError::NoSchema { .. })
    ));
}

#[tokio::test]
async fn what_was_written_twice_before_is_not_there_twice_after() {
    let bus = bus().await;
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    publish(&bus, 0..5).await;
    for number in 5..10u64 {
        bus.publish(TOPIC, json!({"pid": number, "mem_mb": 1})).key("k").dual_write().await.unwrap();
    }
    let mut cutover = to_version(&bus).await;
    finish(&mut cutover).await;
    assert_eq!(bus.bounds("heartbeat.received.v1").await.unwrap()[0].next, 10);
    let progress = cutover.progress();
    assert_eq!((progress.read, progress.written, progress.already, progress.adds_up()), (10, 5, 5, true));
}

/// What a step of a hub that died in it leaves: committed, and its receipts never counted.
#[tokio::test]
async fn a_step_whose_receipts_were_lost_is_counted_by_what_the_target_has() {
    let bus = bus().await;
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    for number in 0..3u64 {
        bus.publish(TOPIC, json!({"pid": number, "mem_mb": 1})).key("k").dual_write().await.unwrap();
    }
    publish(&bus, 3..10).await;
    let mut cutover = to_version(&bus).await;
    finish(&mut cutover).await;
    drop(cutover);
    let key = format!("{TOPIC}>{TOPIC}.v1");
    let mut stored: Value =
        serde_json::from_slice(&bus.document("cutovers", &key).await.unwrap().unwrap().value).unwrap();
    assert_eq!((&stored["written"], &stored["already"]), (&json!(7), &json!(3)));
    stored["written"] = json!(0);
    stored["already"] = json!(0);
    stored["doubt"] = json!({"given": 10, "from": [0], "target_end": [3]});
    let mut work = bus.unit_of_work();
    work.write(DocumentWrite::put("cutovers", &key, stored.to_string()));
    work.commit().await.unwrap();
    let resumed = to_version(&bus).await;
    let progress = resumed.progress();
    assert_eq!((progress.written, progress.already, progress.adds_up()), (7, 3, true));
}

#[tokio::test]
async fn a_topic_that_is_written_to_all_the_time_comes_to_an_end() {
    let bus = bus().await;
    publish(&bus, 0..200).await;
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    let mut cutover = to_version(&bus).await;
    let mut steps = 0;
    while !cutover.step().await.unwrap().done {
        publish(&bus, 0..2000).await;
        steps += 1;
        assert!(steps < 10, "it runs after what comes");
    }
    assert!(cutover.progress().left > 0 && cutover.progress().adds_up());
}

/// A bus whose upcaster to version 2 is a function.
async fn with_upcaster(fill: impl Fn(&Value) -> usize + Send + Sync + 'static) -> Bus {
    let step = move |mut payload: Value| {
        payload["fill"] = json!("x".repeat(fill(&payload)));
        payload["mem_mib"] = json!(1);
        Ok(payload)
    };
    let topic = TopicName::parse(TOPIC).unwrap();
    let options = BusOptions { upcasters: vec![(topic, 1, Arc::new(step))], ..BusOptions::default() };
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
    let bus = Bus::start(store, options).await.unwrap();
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    bus.register_schema(TOPIC, SchemaCandidate { upcast: None, ..renamed() }).await.unwrap();
    bus
}

#[tokio::test]
async fn upcasters_that_make_events_larger_make_smaller_steps() {
    let bus = with_upcaster(|_| 500_000).await;
    publish(&bus, 0..60).await;
    let mut cutover = to_version(&bus).await;
    cutover.step().await.unwrap();
    assert_eq!(cutover.progress().read, 17, "what fits into a step");
    finish(&mut cutover).await;
    assert_eq!((cutover.progress().written, cutover.progress().adds_up()), (60, true));
    assert_eq!(bus.bounds("heartbeat.received.v2").await.unwrap()[0].next, 60);
}

#[tokio::test]
async fn an_event_that_becomes_too_large_is_unfit() {
    let bus = with_upcaster(|payload| if payload["pid"] == 1 { 2_000_000 } else { 1 }).await;
    publish(&bus, 0..3).await;
    let told = to_version(&bus).await.step().await.unwrap_err();
    assert!(matches!(&told, JobError::Unfit { offset: 1, .. }), "{told}");
    let mut skips = start(&bus, CutoverTarget::OfItsVersion, UnfitEvent::Skip).await.unwrap();
    finish(&mut skips).await;
    assert_eq!((skips.progress().written, skips.progress().skipped), (2, 1));
}

#[tokio::test]
async fn a_collection_has_the_latest_event_of_each_key_and_belongs_to_its_topic() {
    let bus = bus().await;
    let name = || CutoverTarget::Collection(CollectionName::parse("heartbeats").unwrap());
    publish(&bus, 0..120).await;
    bus.publish(TOPIC, json!(null)).key("3").await.unwrap();
    bus.publish(TOPIC, json!({"pid": 500, "mem_mb": 1})).await.unwrap();
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    bus.register_schema(TOPIC, renamed()).await.unwrap();
    let mut cutover = start(&bus, name(), UnfitEvent::Stop).await.unwrap();
    cutover.step().await.unwrap();
    drop(cutover);
    let mut cutover = start(&bus, name(), UnfitEvent::Stop).await.unwrap();
    finish(&mut cutover).await;
    let progress = cutover.progress();
    assert_eq!((progress.read, progress.written, progress.skipped, progress.without_key), (122, 121, 1, 1));
    assert!(progress.adds_up());
    let document = async |key: &str| bus.document("data.heartbeats", key).await.unwrap();
    assert!(document("3").await.is_none(), "a tombstone deletes");
    let event: Value = serde_json::from_slice(&document("0").await.unwrap().value).unwrap();
    assert_eq!(event["payload"], json!({"pid": 119, "mem_mib": 1}));
    bus.publish("another", json!({"pid": 1, "mem_mb": 1})).key("0").await.unwrap();
    bus.register_schema("another", candidate(heartbeat("mem_mb"))).await.unwrap();
    let plan = CutoverPlan::make(&bus, "another", name()).await.unwrap();
    assert!(matches!(Cutover::start(&bus, plan, UnfitEvent::Stop).await, Err(JobError::Target { .. })));
    for bad in ["", "Topics", "a.b", "a-b", "1a", "_a", &"a".repeat(65)] {
        assert!(CollectionName::parse(bad).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn another_version_and_odd_targets_are_refused() {
    let bus = bus().await;
    bus.create_topic(TopicSettings::new(TOPIC).unwrap().partitions(3)).await.unwrap();
    bus.create_topic(TopicSettings::new("narrow").unwrap()).await.unwrap();
    publish(&bus, 0..100).await;
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    let to = |name: &str| CutoverTarget::Topic(TopicName::parse(name).unwrap());
    for (target, reason) in [(TOPIC, "itself"), ("dlq.x", "belongs to the hub"), ("narrow", "--partitions 3")] {
        let told = start(&bus, to(target), UnfitEvent::Stop).await.err().unwrap().to_string();
        assert!(told.contains(reason), "{told}");
    }
    let mut running = start(&bus, to("elsewhere"), UnfitEvent::Stop).await.unwrap();
    running.step().await.unwrap();
    bus.register_schema(TOPIC, renamed()).await.unwrap();
    assert!(matches!(running.step().await, Err(JobError::OtherVersion { .. })), "the version changed on the way");
    let told = start(&bus, to("elsewhere"), UnfitEvent::Skip).await.err().unwrap();
    assert!(matches!(told, JobError::OtherVersion { running: 1, .. }), "{told}");
}

#[tokio::test]
async fn a_target_that_was_deleted_is_filled_again() {
    let bus = bus().await;
    publish(&bus, 0..100).await;
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    finish(&mut to_version(&bus).await).await;
    bus.delete_topic("heartbeat.received.v1", prom_engine::TopicLetters::Keep).await.unwrap();
    let mut again = to_version(&bus).await;
    finish(&mut again).await;
    assert_eq!((again.progress().read, again.progress().written), (100, 100));
}

#[tokio::test]
async fn the_audit_trail_tells_who_began() {
    let bus = bus().await.acting_for(Some("ops-team"));
    publish(&bus, 0..3).await;
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    finish(&mut to_version(&bus).await).await;
    let trail = bus.read_topic("system.audit", TopicOffsets::default(), 100).await.unwrap().events;
    let last: Value = trail.last().unwrap().payload().unwrap();
    assert_eq!((&last["action"], &last["subject"]), (&json!("cutover"), &json!("ops-team")));
    assert_eq!((&last["topic"], &last["to"]), (&json!(TOPIC), &json!("heartbeat.received.v1")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cutover_begins_although_one_before_it_is_in_the_middle_of_a_step() {
    let bus = bus().await;
    publish(&bus, 0..2000).await;
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    for _ in 0..10 {
        let mut before = to_version(&bus).await;
        let steps = tokio::spawn(async move { while before.step().await.is_ok_and(|progress| !progress.done) {} });
        let mut after = to_version(&bus).await;
        after.step().await.unwrap();
        steps.await.unwrap();
    }
    finish(&mut to_version(&bus).await).await;
    let moved = bus.read_topic("heartbeat.received.v1", TopicOffsets::default(), 5000).await.unwrap().events;
    assert_eq!(moved.len(), 2000);
}

/// The target was made anew by the next step, and the counts said that everything was there.
#[tokio::test]
async fn a_cutover_whose_target_or_topic_is_deleted_on_the_way_ends_and_begins_anew() {
    let bus = bus().await;
    publish(&bus, 0..300).await;
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    let mut cutover = to_version(&bus).await;
    cutover.step().await.unwrap();
    bus.delete_topic("heartbeat.received.v1", prom_engine::TopicLetters::Keep).await.unwrap();
    let told = cutover.step().await.unwrap_err();
    assert!(matches!(told, JobError::Deleted { .. }), "{told}");
    assert!(bus.topic("heartbeat.received.v1").await.is_err(), "nothing was made anew");
    let mut again = to_version(&bus).await;
    finish(&mut again).await;
    let progress = again.progress();
    assert_eq!((progress.read, progress.written, progress.adds_up()), (300, 300, true));
    let moved = bus.read_topic("heartbeat.received.v1", TopicOffsets::default(), 5000).await.unwrap().events;
    assert_eq!(moved.len(), 300);

    let elsewhere = CutoverTarget::Topic(TopicName::parse("elsewhere").unwrap());
    let mut other = start(&bus, elsewhere, UnfitEvent::Stop).await.unwrap();
    other.step().await.unwrap();
    bus.delete_topic(TOPIC, prom_engine::TopicLetters::Keep).await.unwrap();
    assert!(other.step().await.is_err());
}

#[tokio::test]
async fn progress_goes_with_the_topic_and_with_the_target() {
    let bus = bus().await;
    bus.publish("heartbeat", json!({"pid": 1, "mem_mb": 1})).await.unwrap();
    bus.register_schema("heartbeat", candidate(heartbeat("mem_mb"))).await.unwrap();
    publish(&bus, 0..10).await;
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    for (topic, target) in [(TOPIC, "a"), (TOPIC, "b"), ("heartbeat", "c"), ("heartbeat", "d")] {
        let target = CutoverTarget::Topic(TopicName::parse(target).unwrap());
        let plan = CutoverPlan::make(&bus, topic, target).await.unwrap();
        finish(&mut Cutover::start(&bus, plan, UnfitEvent::Stop).await.unwrap()).await;
    }
    let kept = async || {
        let documents = bus.documents(prom_engine::BETWEEN_TOPICS, None, 100).await.unwrap();
        documents.into_iter().map(|document| document.key).collect::<Vec<_>>()
    };
    assert_eq!(kept().await.len(), 4);
    bus.delete_topic("d", prom_engine::TopicLetters::Keep).await.unwrap();
    bus.delete_topic(TOPIC, prom_engine::TopicLetters::Keep).await.unwrap();
    assert_eq!(kept().await, ["heartbeat>c"]);
}

/// Large events are judged elsewhere, and one that the target refuses is still counted as such.
#[tokio::test]
async fn what_the_schemas_of_the_target_refuse_is_counted_however_large_it_is() {
    let bus = bus().await;
    for number in 0..4u64 {
        let name = if number % 2 == 0 { "x".repeat(300 * 1024) } else { "short".to_owned() };
        let pid = if number < 2 { number } else { 1000 + number };
        bus.publish(TOPIC, json!({"pid": pid, "mem_mb": 1, "name": name})).key("k").await.unwrap();
    }
    bus.register_schema(TOPIC, candidate(heartbeat("mem_mb"))).await.unwrap();
    let narrow = json!({"properties": {"pid": {"maximum": 999}}});
    bus.register_schema("narrow", candidate(narrow)).await.unwrap();
    let to = || CutoverTarget::Topic(TopicName::parse("narrow").unwrap());
    let mut stops = start(&bus, to(), UnfitEvent::Stop).await.unwrap();
    let told = stops.step().await.unwrap_err();
    assert!(matches!(&told, JobError::Unfit { offset: 2, reason, .. } if reason.contains("/pid")), "{told}");
    let mut skips = start(&bus, to(), UnfitEvent::Skip).await.unwrap();
    finish(&mut skips).await;
    assert_eq!((skips.progress().written, skips.progress().skipped), (2, 2));
}
