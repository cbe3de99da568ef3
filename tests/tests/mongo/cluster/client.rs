//! A client of one hub that publishes, joins every group, and writes everything down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prom_client::{
    Assignment, Client, ClientOptions, Delivery, Error, Item, Mode, Notice, Order, Position, Subscribe, Subscription,
    json,
};
use prom_testkit::Random;
use prom_testkit::history::clients::{GroupOrder, Observation, Recorder, SettleAnswer, SettleKind};
use prom_types::IdMaker;
use serde_json::Value;
use tokio::task::JoinSet;

use super::flow::Flow;
use super::primaries::PrimaryWatch;
use super::{HUB_TTL, PromisedGroup, TOPIC};

const PUBLISHERS: u64 = 6;
/// Enough keys that order by key leaves work to do in parallel.
const KEYS: u64 = 64;
/// Events in flight at most, in each group.
const WINDOW: usize = 40;
/// One event in this many fails the first time.
const FAILS: u64 = 60;
/// One event in this many takes longer than a takeover.
const TAKES_LONG: u64 = 80;
/// No event keeps failing for this long when it is retried.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duty {
    /// Some events take it longer than a takeover.
    PublishAndSubscribe,
    Publish,
    /// It is always quick.
    Subscribe,
}

pub struct ClientSpec {
    pub name: String,
    pub hub: String,
    pub url: String,
}

/// A running client.
pub struct Worker {
    own: Arc<Own>,
    publishers: JoinSet<()>,
    consumers: JoinSet<()>,
}

struct Own {
    spec: ClientSpec,
    duty: Duty,
    client: Client,
    recorder: Arc<Recorder>,
    flow: Arc<Flow>,
    primaries: Arc<PrimaryWatch>,
    ids: IdMaker,
    stop_publishing: AtomicBool,
    is_over: AtomicBool,
}

impl Worker {
    pub async fn start(
        spec: ClientSpec,
        duty: Duty,
        groups: &'static [PromisedGroup],
        recorder: Arc<Recorder>,
        flow: Arc<Flow>,
        primaries: Arc<PrimaryWatch>,
    ) -> Self {
        // Long absences are not tested here.
        let options = ClientOptions::default().backoff(Duration::from_millis(50), Duration::from_millis(500));
        let client = Client::connect(&spec.url, options).await.unwrap();
        let (ids, stop_publishing, is_over) = (IdMaker::new(), AtomicBool::new(false), AtomicBool::new(false));
        let own = Arc::new(Own { spec, duty, client, recorder, flow, primaries, ids, stop_publishing, is_over });
        let (mut publishers, mut consumers) = (JoinSet::new(), JoinSet::new());
        consumers.spawn(own.clone().note_connections());
        if duty != Duty::Publish {
            for group in groups {
                let subscription = own.subscribe(*group).await;
                consumers.spawn(own.clone().consume(group.name, subscription));
            }
        }
        if duty != Duty::Subscribe {
            (0..PUBLISHERS).for_each(|number| drop(publishers.spawn(own.clone().publish(number))));
        }
        Self { own, publishers, consumers }
    }

    pub fn name(&self) -> &str {
        &self.own.spec.name
    }

    /// Waits until everything that was begun is answered.
    pub async fn stop_publishing(&mut self) {
        self.own.stop_publishing.store(true, Ordering::Relaxed);
        while let Some(ended) = self.publishers.join_next().await {
            ended.unwrap();
        }
    }

    /// A subscription that ended by itself fails the test here.
    pub async fn close(mut self) {
        self.own.is_over.store(true, Ordering::Relaxed);
        self.own.client.close().await;
        while let Some(ended) = self.consumers.join_next().await {
            ended.unwrap();
        }
    }
}

impl Own {
    async fn note_connections(self: Arc<Self>) {
        let (client, hub) = (self.spec.name.clone(), self.spec.hub.clone());
        let mut notices = self.client.notices();
        self.recorder.note(Observation::Connected { client: client.clone(), hub: hub.clone() });
        while !self.is_over.load(Ordering::Relaxed) {
            // The last handle to the client is here: nothing else would end the wait.
            let Ok(notice) = tokio::time::timeout(Duration::from_millis(100), notices.next()).await else { continue };
            match notice {
                Some(Notice::Connected { .. }) => {
                    self.recorder.note(Observation::Connected { client: client.clone(), hub: hub.clone() });
                }
                Some(Notice::Disconnected { reason }) => {
                    self.recorder.note(Observation::Disconnected { client: client.clone(), why: reason });
                }
                Some(_) => {}
                None => return,
            }
        }
    }

    async fn publish(self: Arc<Self>, number: u64) {
        let publisher = format!("{}/{number}", self.spec.name);
        let mut random = Random::seeded(hash(&publisher));
        for event in 0.. {
            tokio::time::sleep(Duration::from_millis(random.within(10..90))).await;
            if self.stop_publishing.load(Ordering::Relaxed) {
                return;
            }
            let key = format!("k{}", random.within(0..KEYS));
            tokio::select! {
                () = self.publish_one(&publisher, event, &key) => {}
                why = self.primaries.lost_patience(PATIENCE) => panic!("{publisher} could not publish event {event}: {why}"),
            }
        }
    }

    /// Retries with the same id until it is stored.
    async fn publish_one(&self, publisher: &str, number: u64, key: &str) {
        let id = self.ids.make(now_ms());
        let payload = json!({ "at_us": self.recorder.now_us() });
        loop {
            let publisher = publisher.to_owned();
            let (topic, keyed) = (TOPIC.to_owned(), Some(key.to_owned()));
            self.recorder.note(Observation::Publishing { publisher: publisher.clone(), number, id, topic, key: keyed });
            match self.client.publish(TOPIC, payload.clone()).key(key).id(id).await {
                Ok(receipt) => {
                    let (topic, partition, offset) = (TOPIC.to_owned(), receipt.partition, receipt.offset);
                    return self.recorder.note(Observation::Published { publisher, id, topic, partition, offset });
                }
                Err(error) => self.recorder.note(Observation::PublishFailed { publisher, id, why: error.to_string() }),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn subscribe(self: &Arc<Self>, group: PromisedGroup) -> Subscription {
        let subscribe = self.client.subscribe(TOPIC, group.name).from(Position::Earliest);
        let subscribe = subscribe.member_id(&self.spec.name).max_in_flight(WINDOW).max_attempts(50);
        let subscribe = match group.order {
            GroupOrder::None => subscribe,
            GroupOrder::Key => subscribe.order(Order::Key),
            GroupOrder::Partition => self.partitioned(subscribe, group.name),
        };
        subscribe.start().await.unwrap()
    }

    fn partitioned<'a>(self: &Arc<Self>, subscribe: Subscribe<'a>, group: &'static str) -> Subscribe<'a> {
        // A note must not keep the client alive.
        let (came, went) = (self.recorder.clone(), self.recorder.clone());
        let (comer, goer) = (self.spec.name.clone(), self.spec.name.clone());
        let told = |assignment: &Assignment| (assignment.event_topic.to_string(), assignment.partitions.clone());
        let subscribe = subscribe.mode(Mode::Partitioned).ttl(HUB_TTL).on_assigned(move |assignment| {
            let (topic, partitions) = told(assignment);
            came.note(Observation::Assigned { client: comer.clone(), group: group.to_owned(), topic, partitions });
        });
        subscribe.on_revoked(move |assignment| {
            let (topic, partitions) = told(assignment);
            went.note(Observation::Revoked { client: goer.clone(), group: group.to_owned(), topic, partitions });
        })
    }

    async fn consume(self: Arc<Self>, group: &'static str, mut subscription: Subscription) {
        while let Some(item) = subscription.next_item().await {
            let client = self.spec.name.clone();
            match item {
                Item::Delivery(delivery) => {
                    let number = self.note_delivery(group, &delivery);
                    tokio::spawn(self.clone().handle(group, number, delivery));
                }
                Item::Resubscribed => self.recorder.note(Observation::Resubscribed { client, group: group.to_owned() }),
                Item::Gap(gap) => {
                    let (topic, group) = (gap.topic.to_string(), group.to_owned());
                    let (partition, from, to, reason) = (gap.partition, gap.from, gap.to, gap.reason.to_string());
                    self.recorder.note(Observation::Gap { client, group, topic, partition, from, to, reason });
                }
                Item::Assignment(_) => {}
            }
        }
        let is_over = self.is_over.load(Ordering::Relaxed);
        assert!(is_over, "the subscription of {} to {group} ended: {:?}", self.spec.name, subscription.failure());
    }

    fn note_delivery(&self, group: &str, delivery: &Delivery) -> u64 {
        self.recorder.note_delivery(|number| Observation::Delivered {
            delivery: number,
            client: self.spec.name.clone(),
            hub: self.spec.hub.clone(),
            group: group.to_owned(),
            topic: delivery.topic().to_string(),
            partition: delivery.partition(),
            offset: delivery.offset(),
            id: delivery.id(),
            key: delivery.key().map(str::to_owned),
            attempt: delivery.attempt(),
            deadline_ms: delivery.ack_deadline().as_millis() as u64,
        })
    }

    /// Some work, a settlement, its answer.
    async fn handle(self: Arc<Self>, group: &'static str, number: u64, delivery: Delivery) {
        let id = delivery.id();
        let chance = hash(&id.to_string());
        let takes_long = self.duty == Duty::PublishAndSubscribe && (chance >> 24).is_multiple_of(TAKES_LONG);
        let quick = Duration::from_millis(2 + chance % 80);
        tokio::time::sleep(if takes_long { HUB_TTL + Duration::from_secs(2) } else { quick }).await;
        let fails = delivery.attempt() == 1 && (chance >> 16).is_multiple_of(FAILS);
        let verdict = if fails { SettleKind::Nack } else { SettleKind::Ack };
        self.recorder.note(Observation::Settling { delivery: number, id, verdict });
        let settling = if fails { delivery.nack("as planned") } else { delivery.ack() };
        let (answer, why) = match settling.await {
            Ok(()) => (SettleAnswer::Ok, None),
            Err(error) => (answer_of(&error), Some(error.to_string())),
        };
        self.recorder.note(Observation::Settled { delivery: number, id, verdict, answer, why });
        if answer == SettleAnswer::Ok && !fails {
            let payload: Value = delivery.payload().unwrap();
            self.flow.note(group, delivery.partition(), payload["at_us"].as_u64().unwrap());
        }
    }
}

/// Whether the hub decided.
fn answer_of(error: &Error) -> SettleAnswer {
    match error {
        Error::LeaseLost { reason, .. } if reason.contains("before the answer") => SettleAnswer::Unknown,
        Error::LeaseLost { .. } => SettleAnswer::Refused,
        _ => SettleAnswer::Unknown,
    }
}

/// The same in every run, and for every delivery of an event.
fn hash(text: &str) -> u64 {
    text.bytes().fold(7, |hash: u64, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte))) >> 8
}

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}
