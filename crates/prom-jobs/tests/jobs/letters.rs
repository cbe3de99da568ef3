//! What dead letters promise: counted exactly, found, handed out again once, and followed until their outcome is known.

use std::collections::BTreeMap;
use std::time::Duration;

use prom_engine::{Bus, Position, TopicOffsets, TopicSettings};
use prom_jobs::{
    EDITED_HEADER, JobError, LETTER_HEADER, LetterFilter, LetterJob, LetterJobState, LetterOffice, LetterOrder,
    LetterStanding, LetterWork, REPLAYS_HEADER, ReplayOutcome,
};
use prom_types::{Event, EventId, Json, TopicName};
use serde_json::{Value, json};

use super::{bus, candidate};

const TOPIC: &str = "orders";

fn topic() -> TopicName {
    TopicName::parse(TOPIC).unwrap()
}

/// Payloads that the group gives up on, each with its reason.
async fn dead(bus: &Bus, group: &str, payloads: &[(Value, &str)]) {
    for (payload, reason) in payloads {
        bus.publish(TOPIC, payload.clone()).key("k").header("x-source", "test").await.unwrap();
        let mut orders = bus.subscribe(TOPIC, group).from(Position::Earliest).max_attempts(1).start().await.unwrap();
        orders.next().await.unwrap().nack(reason).await.unwrap();
        orders.unsubscribe().await;
    }
    let letters = format!("dlq.{TOPIC}");
    until("the letters are written", || async {
        matches!(bus.bounds(&letters).await, Ok(bounds) if bounds[0].next >= payloads.len() as u64)
    })
    .await;
}

async fn dead_numbers(bus: &Bus, numbers: std::ops::Range<u64>) {
    let mut orders = bus.subscribe(TOPIC, "billing").from(Position::Earliest).max_attempts(1).start().await.unwrap();
    for number in numbers.clone() {
        bus.publish(TOPIC, json!({"n": number})).key((number % 3).to_string()).await.unwrap();
    }
    for _ in numbers.clone() {
        let order = orders.next().await.unwrap();
        let n = order.payload::<Value>().unwrap()["n"].clone();
        order.nack(&format!("order {n} cannot be printed")).await.unwrap();
    }
    orders.unsubscribe().await;
    let letters = format!("dlq.{TOPIC}");
    until("the letters are written", || async {
        matches!(bus.bounds(&letters).await, Ok(bounds) if bounds[0].next >= numbers.end)
    })
    .await;
}

async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while !holds().await {
        assert!(tokio::time::Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn order(work: LetterWork) -> LetterOrder {
    LetterOrder {
        topic: topic(),
        work,
        filter: LetterFilter { standing: LetterStanding::Open, ..LetterFilter::default() },
        limit: 1000,
        transform: None,
        payload: None,
        skip_unfit: false,
        rate: None,
        canary: None,
        stop_on_failure: None,
        by: Some("operator".to_owned()),
    }
}

async fn at_rest(letters: &LetterOffice, job: &LetterJob) -> LetterJob {
    letters.wait_for(job.id, Duration::from_secs(20)).await.unwrap()
}

async fn events(bus: &Bus) -> Vec<Event> {
    let page = bus.read_topic(TOPIC, TopicOffsets::default(), 10_000).await.unwrap();
    page.events.iter().map(|event| event.to_event().unwrap()).collect()
}

/// Every event of the topic, settled one way or the other by a group that gets all of them.
async fn settle(bus: &Bus, group: &str, is_good: impl Fn(&Value) -> bool, count: usize) {
    let mut orders = bus.subscribe(TOPIC, group).from(Position::Earliest).max_attempts(1).start().await.unwrap();
    for _ in 0..count {
        let order = orders.next().await.unwrap();
        match is_good(&order.payload::<Value>().unwrap()) {
            true => order.ack().await.unwrap(),
            false => order.nack("still not").await.unwrap(),
        }
    }
    orders.unsubscribe().await;
}

#[tokio::test]
async fn letters_are_counted_by_kind_of_error_as_soon_as_they_are_written() {
    let bus = bus().await;
    let letters = LetterOffice::start(bus.clone());
    assert_eq!(letters.summary(&topic()).await.unwrap().totals.count, 0);
    dead(&bus, "billing", &[(json!(1), "order 1 of \"A\" not found"), (json!(2), "no printer")]).await;
    dead(&bus, "billing", &[(json!(3), "order 3 of \"B\" not found")]).await;
    until("three letters", || async { letters.summary(&topic()).await.unwrap().totals.count == 3 }).await;
    let summary = letters.summary(&topic()).await.unwrap();
    let told: Vec<_> = summary.errors.iter().map(|errors| (errors.pattern.as_str(), errors.count)).collect();
    assert_eq!(told, [("order # of \"…\" not found", 2), ("no printer", 1)]);
    let first = &summary.errors[0];
    assert_eq!(first.groups, BTreeMap::from([("billing".to_owned(), 2)]));
    assert!(first.first_ts <= first.last_ts && first.sample == (0, 2), "{first:?}");
}

#[tokio::test]
async fn retention_takes_letters_out_of_the_counts() {
    let bus = bus().await;
    let settings = TopicSettings::new("dlq.orders").unwrap().retain_for(Duration::from_millis(1));
    let letters = LetterOffice::start(bus.clone());
    dead_numbers(&bus, 0..300).await;
    assert_eq!(letters.summary(&topic()).await.unwrap().totals.count, 300);
    bus.create_topic(settings).await.unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    bus.retain_now().await.unwrap();
    let summary = letters.summary(&topic()).await.unwrap();
    assert_eq!((summary.totals.count, summary.errors.len()), (0, 0));
    assert!(bus.documents("letters", None, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn pages_are_newest_first_and_every_letter_is_on_one_page() {
    let bus = bus().await;
    let letters = LetterOffice::start(bus.clone());
    dead_numbers(&bus, 0..600).await;
    let (mut seen, mut next) = (Vec::new(), None);
    loop {
        let page = letters.page(&topic(), &LetterFilter::default(), next, 70).await.unwrap();
        assert!(page.letters.len() <= 70);
        seen.extend(page.letters.iter().map(|letter| letter.offset));
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    assert_eq!(seen, (0..600).rev().collect::<Vec<u64>>());
    let found = |filter: LetterFilter| {
        let letters = letters.clone();
        async move { letters.page(&topic(), &filter, None, 1000).await.unwrap().letters.len() }
    };
    assert_eq!(found(LetterFilter { key: Some("1".to_owned()), ..LetterFilter::default() }).await, 200);
    assert_eq!(found(LetterFilter { err: Some("ORDER 59".to_owned()), ..LetterFilter::default() }).await, 11);
    assert_eq!(found(LetterFilter { fingerprint: Some("x".to_owned()), ..LetterFilter::default() }).await, 0);
    assert_eq!(found(LetterFilter { to_ts: Some(0), ..LetterFilter::default() }).await, 0);
    assert_eq!(found(LetterFilter { places: Some(vec![(0, 7), (0, 599)]), ..LetterFilter::default() }).await, 2);
}

#[tokio::test]
async fn a_replayed_event_keeps_what_it_was_and_says_where_it_comes_from() {
    let bus = bus().await;
    let letters = LetterOffice::start(bus.clone());
    dead(&bus, "billing", &[(json!({"amount": "5"}), "not a number")]).await;
    let letter = letters.page(&topic(), &LetterFilter::default(), None, 1).await.unwrap().letters.remove(0);
    let transform = Some(".payload.amount |= tonumber".to_owned());
    let trial = letters.try_out(&LetterOrder { transform: transform.clone(), ..order(LetterWork::ToTopic) }).await;
    let trial = trial.unwrap();
    assert_eq!((trial.matched, trial.replayed, trial.shown[0].edited), (1, 1, true));
    assert_eq!(events(&bus).await.len(), 1, "a dry run sends nothing");
    let job = letters.order(LetterOrder { transform, ..order(LetterWork::ToTopic) }).await.unwrap();
    let job = at_rest(&letters, &job).await;
    assert_eq!((job.state, job.matched, job.replayed, job.waiting()), (LetterJobState::Done, 1, 1, 1), "{job:?}");
    let events = events(&bus).await;
    let (original, again) = (&events[0], &events[1]);
    assert_eq!(again.payload.as_str(), r#"{"amount":5}"#);
    assert_eq!((&again.key, again.ts, &again.caused_by), (&original.key, original.ts, &vec![letter.id]));
    let header = |name: &str| again.headers.get(name).map(str::to_owned);
    assert_eq!(header("x-source").as_deref(), Some("test"));
    assert_eq!(header(LETTER_HEADER).as_deref(), Some("0/0"));
    assert_eq!((header(REPLAYS_HEADER).as_deref(), header(EDITED_HEADER).as_deref()), (Some("1"), Some("operator")));
    let again = letters.order(order(LetterWork::ToTopic)).await.unwrap();
    let again = at_rest(&letters, &again).await;
    assert_eq!((again.matched, again.replayed), (0, 0), "a letter is replayed once");
}

#[tokio::test]
async fn a_program_that_changes_nothing_edits_nothing_however_it_writes_what_it_read() {
    let bus = bus().await;
    let letters = LetterOffice::start(bus.clone());
    let text = r#"{"name" : "a \"b\" c",  "n": [1, 2]}"#;
    bus.publish(TOPIC, Json::parse(text).unwrap()).await.unwrap();
    let mut orders = bus.subscribe(TOPIC, "billing").from(Position::Earliest).max_attempts(1).start().await.unwrap();
    orders.next().await.unwrap().nack("no printer").await.unwrap();
    until("the letter is written", || async { bus.bounds("dlq.orders").await.is_ok() }).await;
    let same = LetterOrder { transform: Some(".key = \"x\"".to_owned()), ..order(LetterWork::ToTopic) };
    let trial = letters.try_out(&same).await.unwrap();
    assert!(!trial.shown[0].edited);
    let job = letters.order(same).await.unwrap();
    assert_eq!(at_rest(&letters, &job).await.replayed, 1);
    let again = events(&bus).await.remove(1);
    assert_eq!((again.payload.as_str(), again.headers.get(EDITED_HEADER)), (text, None));
}

#[tokio::test]
async fn the_outcome_of_each_event_is_known_acked_or_dead_for_the_second_time() {
    let bus = bus().await;
    let letters = LetterOffice::start(bus.clone());
    dead_numbers(&bus, 0..10).await;
    let job = letters.order(order(LetterWork::ToTopic)).await.unwrap();
    at_rest(&letters, &job).await;
    settle(&bus, "billing", |payload| payload["n"].as_u64().unwrap() != 4, 10).await;
    until("the outcomes are counted", || async { letters.job(job.id).await.unwrap().waiting() == 0 }).await;
    let job = letters.job(job.id).await.unwrap();
    assert_eq!((job.acked, job.dead), (9, 1));
    let page = letters.page(&topic(), &LetterFilter::default(), None, 100).await.unwrap().letters;
    assert_eq!((page.len(), page[0].deaths, page[0].offset), (11, 2, 10));
    let replay = |offset: u64| page.iter().find(|letter| letter.offset == offset).unwrap().replay.clone();
    assert_eq!(replay(4).unwrap().outcome, ReplayOutcome::DeadAgain);
    assert_eq!(replay(5).unwrap().outcome, ReplayOutcome::Acked);
    assert_eq!(replay(5).unwrap().by.as_deref(), Some("operator"));
    assert_eq!(replay(10), None);
}

#[tokio::test]
async fn a_canary_that_dies_stops_the_job_and_a_transform_heals_the_rest() {
    let bus = bus().await;
    let letters = LetterOffice::start(bus.clone());
    dead_numbers(&bus, 0..100).await;
    let canary = LetterOrder { canary: Some(5), stop_on_failure: Some(10), ..order(LetterWork::ToTopic) };
    let job = letters.order(canary.clone()).await.unwrap();
    until("the canary waits", || async { letters.job(job.id).await.unwrap().state == LetterJobState::Canary }).await;
    assert_eq!(events(&bus).await.len(), 105);
    settle(&bus, "billing", |payload| payload["n"] == 0, 5).await;
    let job = at_rest(&letters, &job).await;
    assert_eq!((job.state, job.replayed), (LetterJobState::Stopped, 5), "{job:?}");
    assert!(job.reason.unwrap().contains("of the canary died again"));
    assert_eq!(events(&bus).await.len(), 105);
    let heal = LetterOrder { transform: Some(".payload.good = true".to_owned()), ..canary };
    let job = letters.order(heal).await.unwrap();
    let consumer = bus.clone();
    let acks = tokio::spawn(async move { settle(&consumer, "billing", |payload| payload["good"] == true, 99).await });
    acks.await.unwrap();
    let job = at_rest(&letters, &job).await;
    assert_eq!((job.state, job.replayed), (LetterJobState::Done, 99), "{job:?}");
    until("all are acked", || async { letters.job(job.id).await.unwrap().acked == 99 }).await;
}

#[tokio::test]
async fn a_transform_that_makes_nothing_skips_and_one_that_breaks_the_schema_sends_nothing() {
    let bus = bus().await;
    let letters = LetterOffice::start(bus.clone());
    dead_numbers(&bus, 0..6).await;
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    bus.register_schema(TOPIC, candidate(schema)).await.unwrap();
    let with = |transform: &str| LetterOrder { transform: Some(transform.to_owned()), ..order(LetterWork::ToTopic) };
    let refused = letters.order(with("if .payload.n == 3 then .payload.n = \"x\" else . end")).await;
    assert!(matches!(refused, Err(JobError::UnfitLetter { .. })), "{refused:?}");
    assert!(matches!(letters.order(with(".payload")).await, Err(JobError::UnfitLetter { .. })));
    assert!(matches!(letters.order(with("}")).await, Err(JobError::Bus(_))));
    assert_eq!((events(&bus).await.len(), letters.jobs(None, 10).await.unwrap().len()), (6, 0));
    let job = letters.order(with("select(.payload.n > 3)")).await.unwrap();
    let job = at_rest(&letters, &job).await;
    assert_eq!((job.matched, job.replayed, job.skipped), (6, 2, 4));
}

#[tokio::test]
async fn two_jobs_over_the_same_letters_send_each_event_once() {
    let bus = bus().await;
    dead_numbers(&bus, 0..700).await;
    let (one, other) = (LetterOffice::start(bus.clone()), LetterOffice::start(bus.clone()));
    let first = one.order(order(LetterWork::ToTopic)).await.unwrap();
    let second = other.order(order(LetterWork::ToTopic)).await.unwrap();
    let (first, second) = (at_rest(&one, &first).await, at_rest(&other, &second).await);
    assert_eq!((first.state, second.state), (LetterJobState::Done, LetterJobState::Done));
    assert_eq!(first.replayed + second.replayed, 700, "{first:?} {second:?}");
    assert_eq!(events(&bus).await.len(), 1400);
    assert_eq!(one.summary(&topic()).await.unwrap().totals.replayed, 700);
}

#[tokio::test]
async fn a_job_is_paused_resumed_and_cancelled_and_sends_at_its_rate() {
    let bus = bus().await;
    let letters = LetterOffice::start(bus.clone());
    dead_numbers(&bus, 0..50).await;
    let job = letters.order(LetterOrder { rate: Some(20), ..order(LetterWork::ToTopic) }).await.unwrap();
    until("it has begun", || async { letters.job(job.id).await.unwrap().replayed > 0 }).await;
    let paused = letters.pause(job.id, Some("operator")).await.unwrap();
    assert_eq!(paused.state, LetterJobState::Paused);
    let sent = events(&bus).await.len();
    assert!(sent < 100, "{sent}");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(events(&bus).await.len(), sent, "a paused job sends nothing");
    assert_eq!(letters.resume(job.id, None).await.unwrap().state, LetterJobState::Running);
    until("it goes on", || async { events(&bus).await.len() > sent }).await;
    assert_eq!(letters.cancel(job.id, None).await.unwrap().state, LetterJobState::Cancelled);
    assert!(matches!(letters.resume(job.id, None).await, Err(JobError::LetterJobState { .. })));
    assert!(matches!(letters.job(EventId::derived("x")).await, Err(JobError::UnknownLetterJob { .. })));
    let audit = bus.read("system.audit", 0, 0, 100).await.unwrap();
    let actions: Vec<_> =
        audit.events.iter().map(|event| event.payload::<Value>().unwrap()["action"].clone()).collect();
    assert_eq!(actions, ["replay_letters", "pause_letter_job", "resume_letter_job", "cancel_letter_job"]);
}

#[tokio::test]
async fn purged_letters_are_in_no_list_and_no_count() {
    let bus = bus().await;
    let letters = LetterOffice::start(bus.clone());
    dead_numbers(&bus, 0..300).await;
    let filter = LetterFilter { key: Some("0".to_owned()), ..LetterFilter::default() };
    let job = letters.order(LetterOrder { filter, ..order(LetterWork::Purge) }).await.unwrap();
    assert_eq!(at_rest(&letters, &job).await.replayed, 100);
    let summary = letters.summary(&topic()).await.unwrap();
    assert_eq!((summary.totals.count, summary.totals.purged, summary.errors[0].count), (200, 100, 200));
    let page = letters.page(&topic(), &LetterFilter::default(), None, 1000).await.unwrap();
    assert!(page.letters.len() == 200 && page.letters.iter().all(|letter| letter.key.as_deref() != Some("0")));
    assert_eq!(events(&bus).await.len(), 300);
}

fn to_group(work: LetterWork) -> LetterOrder {
    let group = Some(prom_types::GroupName::parse("billing").unwrap());
    LetterOrder { filter: LetterFilter { group, ..order(work).filter }, ..order(work) }
}

#[tokio::test]
async fn letters_are_given_back_to_their_group_alone_each_once_and_followed() {
    let bus = bus().await;
    let letters = LetterOffice::start(bus.clone());
    dead_numbers(&bus, 0..6).await;
    let trial = letters.try_out(&to_group(LetterWork::ToGroup)).await.unwrap();
    assert_eq!((trial.matched, trial.replayed, trial.shown.len()), (6, 6, 6));
    let job = letters.order(to_group(LetterWork::ToGroup)).await.unwrap();
    let job = at_rest(&letters, &job).await;
    assert_eq!((job.state, job.matched, job.replayed, job.waiting()), (LetterJobState::Done, 6, 6, 6));
    assert_eq!(events(&bus).await.len(), 6, "nothing was published");
    let again = letters.order(to_group(LetterWork::ToGroup)).await.unwrap();
    assert_eq!(at_rest(&letters, &again).await.matched, 0, "each once");
    settle(&bus, "billing", |payload| payload["n"] != 4, 6).await;
    until("the outcomes are counted", || async { letters.job(job.id).await.unwrap().waiting() == 0 }).await;
    let job = letters.job(job.id).await.unwrap();
    assert_eq!((job.acked, job.dead), (5, 1));
    let page = letters.page(&topic(), &LetterFilter::default(), None, 100).await.unwrap().letters;
    assert_eq!((page.len(), page[0].deaths, page[0].given_back), (7, 2, 1));
    let second = letters.order(to_group(LetterWork::ToGroup)).await.unwrap();
    assert_eq!(at_rest(&letters, &second).await.replayed, 1, "the new letter alone");
    settle(&bus, "billing", |_| true, 1).await;
    until("it is healed", || async { letters.job(second.id).await.unwrap().acked == 1 }).await;
}

#[tokio::test]
async fn a_purge_lets_the_keys_go_on_that_its_letters_held() {
    let bus = bus().await;
    let letters = LetterOffice::start(bus.clone());
    let parking = || bus.subscribe(TOPIC, "billing").from(Position::Earliest).order(prom_engine::Order::Key).park();
    for number in 0..3 {
        bus.publish(TOPIC, json!({"n": number})).key("a").await.unwrap();
    }
    let mut orders = parking().max_attempts(1).start().await.unwrap();
    orders.next().await.unwrap().nack("no").await.unwrap();
    until("all are behind it", || async { bus.bounds("dlq.orders").await.is_ok_and(|bounds| bounds[0].next == 3) })
        .await;
    let job = letters.order(order(LetterWork::Purge)).await.unwrap();
    assert_eq!(at_rest(&letters, &job).await.replayed, 3);
    until("nothing is parked", || async { bus.parked_keys(TOPIC, "billing", None, 10).await.unwrap().keys.is_empty() })
        .await;
    bus.publish(TOPIC, json!({"n": 3})).key("a").await.unwrap();
    let next = orders.next().await.unwrap();
    assert_eq!(next.offset(), 3, "the key goes on");
    next.ack().await.unwrap();
}
