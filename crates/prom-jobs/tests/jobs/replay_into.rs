//! What a bulk replay promises: each event in the target once, whatever stops it, filtered and changed by a program.

use prom_engine::{Bus, Position, TopicOffsets};
use prom_jobs::{JobError, ReplayInto, ReplayPlan, ReplayProgress, UnfitEvent};
use prom_types::{Event, TopicName};
use serde_json::{Value, json};

use super::{TOPIC, bus, candidate, publish};

const TARGET: &str = "heartbeat.again";

fn plan(transform: Option<&str>) -> ReplayPlan {
    ReplayPlan {
        topic: TopicName::parse(TOPIC).unwrap(),
        target: TopicName::parse(TARGET).unwrap(),
        transform: transform.map(str::to_owned),
        from: Position::Earliest,
        unfit: UnfitEvent::Stop,
    }
}

async fn run(bus: &Bus, plan: ReplayPlan) -> Result<ReplayProgress, JobError> {
    let mut replay = ReplayInto::start(bus, plan).await?;
    while !replay.step().await?.done {}
    Ok(replay.progress().clone())
}

async fn events(bus: &Bus, topic: &str) -> Vec<Event> {
    let page = bus.read_topic(topic, TopicOffsets::default(), 10_000).await.unwrap();
    page.events.iter().map(|event| event.to_event().unwrap()).collect()
}

#[tokio::test]
async fn every_event_is_in_the_target_once_with_what_it_had() {
    let bus = bus().await;
    publish(&bus, 0..500).await;
    let mut half = ReplayInto::start(&bus, plan(None)).await.unwrap();
    half.step().await.unwrap();
    drop(half);
    let progress = run(&bus, plan(None)).await.unwrap();
    assert_eq!((progress.read, progress.sent, progress.left), (500, 500, 0));
    publish(&bus, 500..510).await;
    assert_eq!(run(&bus, plan(None)).await.unwrap().read, 510);
    let (from, to) = (events(&bus, TOPIC).await, events(&bus, TARGET).await);
    let told = |events: &[Event]| -> Vec<_> {
        events.iter().map(|event| (event.id, event.key.clone(), event.ts, event.payload.clone())).collect()
    };
    assert_eq!(told(&from), told(&to));
}

#[tokio::test]
async fn a_program_leaves_out_changes_and_multiplies() {
    let bus = bus().await;
    publish(&bus, 0..20).await;
    let program = "select(.payload.pid < 3) | ., (.payload.copy = true | .key = \"copy\")";
    let progress = run(&bus, plan(Some(program))).await.unwrap();
    assert_eq!((progress.read, progress.sent, progress.left_out), (20, 6, 17));
    run(&bus, plan(Some("select(.payload.pid < 3)"))).await.unwrap();
    let made = events(&bus, TARGET).await;
    let pids: Vec<u64> =
        made.iter().map(|event| event.payload.to::<Value>().unwrap()["pid"].as_u64().unwrap()).collect();
    assert_eq!(pids, [0, 0, 1, 1, 2, 2], "another program brings no event twice");
    assert_eq!(made[1].key.as_deref(), Some("copy"));
}

#[tokio::test]
async fn an_event_that_does_not_fit_ends_it_and_is_left_out_whole_where_asked() {
    let bus = bus().await;
    publish(&bus, 0..10).await;
    let schema = json!({"type": "object", "properties": {"pid": {"type": "integer", "maximum": 7}}});
    bus.register_schema(TARGET, candidate(schema)).await.unwrap();
    assert!(matches!(run(&bus, plan(None)).await, Err(JobError::UnfitReplay { offset: 8, .. })));
    assert!(matches!(run(&bus, plan(Some(".payload"))).await, Err(JobError::UnfitReplay { .. })));
    let twice = plan(Some(".payload.pid -= 1 | ., (.payload.pid += 2)"));
    let progress = run(&bus, ReplayPlan { unfit: UnfitEvent::Skip, ..twice }).await.unwrap();
    assert_eq!((progress.sent, progress.skipped), (14, 3), "{progress:?}");
    let own = ReplayPlan { target: TopicName::parse(TOPIC).unwrap(), ..plan(None) };
    assert!(matches!(run(&bus, own).await, Err(JobError::Target { .. })));
}
