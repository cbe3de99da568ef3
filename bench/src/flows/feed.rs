//! Change feeds: the changes of a collection as events of a topic, beside a program that reads the same changes with the driver.
//!
//! The changes are there before the clock starts, so the feed is measured and not the writer. Each round reads all of them again,
//! first with the driver, then by a feed of its own; a round counts only if the topic then has every change.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use mongodb::bson::{Document, Timestamp, doc};
use mongodb::change_stream::event::ChangeStreamEvent;
use mongodb::options::FullDocumentType;
use mongodb::{Client, Collection};
use prom_flows::feed::{
    self, ClusterTime, FEED_POSITIONS, FeedOptions, FeedPosition, FeedRoute, FeedSource, FullDocument, StreamPlace,
};
use prom_jobs::Keeper;
use prom_store::DocumentWrite;
use prom_testkit::mongo::ReplicaSet;
use prom_types::TopicName;
use promethean::Bus;

use crate::args::FlowsArgs;
use crate::embedded_bus::EmbeddedBus;
use crate::figure::{Figure, Goal};
use crate::summary::Summary;
use crate::work_dir::WorkDir;

const AT_ONCE: u64 = 1000;
const PATIENCE: Duration = Duration::from_secs(300);

/// What is read, and how.
struct Case {
    name: &'static str,
    full_document: FullDocument,
    /// Of a hundred changes.
    updates: u64,
    goal: Goal,
}

const CASES: [Case; 2] = [
    Case { name: "change feed, inserts", full_document: FullDocument::None, updates: 0, goal: Goal::AtLeast(20_000.0) },
    Case {
        name: "change feed, half updates that are looked up",
        full_document: FullDocument::UpdateLookup,
        updates: 50,
        goal: Goal::None,
    },
];

/// A collection with changes, and when they began.
struct Source {
    orders: Collection<Document>,
    url: String,
    began: ClusterTime,
    changes: u64,
}

pub async fn measure(args: &FlowsArgs, work_dir: &WorkDir) -> anyhow::Result<Vec<Figure>> {
    let changes = args.events();
    let set = ReplicaSet::start(1).await?;
    let mut figures = Vec::new();
    for case in &CASES {
        let (mut raw, mut ours) = (Vec::new(), Vec::new());
        let source = Source::write(&set, case, changes).await?;
        let bus = EmbeddedBus::open_at(&work_dir.fresh("feed")?).await?;
        for round in 0..args.rounds {
            raw.push(source.read_with_driver(case).await?);
            ours.push(source.feed(&bus.bus, case, round).await?);
            eprintln!("  {}: {:.0}/s, the driver alone {:.0}/s", case.name, ours[round], raw[round]);
        }
        bus.close().await?;
        let figure = Figure::new(case.name, Summary::median_of(&ours), "events/s", case.goal);
        figures.push(figure.beside(Summary::median_of(&raw), "the driver's change stream"));
    }
    figures.extend(latency(&set, work_dir, args.measure.full_or_quick(2000, 300)).await?);
    Ok(figures)
}

impl Source {
    async fn write(set: &ReplicaSet, case: &Case, changes: u64) -> anyhow::Result<Self> {
        let url = set.url(&format!("feed_{}", case.updates));
        let database = Client::with_uri_str(&url).await?.default_database().context("no database")?;
        let hello = database.run_command(doc! { "hello": 1 }).await?;
        let now = hello.get_timestamp("operationTime")?;
        let began = ClusterTime { seconds: now.time, increment: now.increment }.next();
        let orders = database.collection::<Document>("orders");
        let updates = changes * case.updates / 100;
        for from in (0..changes - updates).step_by(AT_ONCE as usize) {
            let until = (from + AT_ONCE).min(changes - updates);
            orders.insert_many((from..until).map(order)).await?;
        }
        for from in (0..updates).step_by(AT_ONCE as usize) {
            let ids = doc! { "$gte": from as i64, "$lt": (from + AT_ONCE).min(updates) as i64 };
            orders.update_many(doc! { "_id": ids }, doc! { "$set": { "status": "paid" } }).await?;
        }
        Ok(Self { orders, url, began, changes })
    }

    /// Changes per second of a loop over the driver's stream.
    async fn read_with_driver(&self, case: &Case) -> anyhow::Result<f64> {
        let at = Timestamp { time: self.began.seconds, increment: self.began.increment };
        let started = Instant::now();
        let mut watch = self.orders.watch().start_at_operation_time(at).batch_size(AT_ONCE as u32);
        if case.full_document == FullDocument::UpdateLookup {
            watch = watch.full_document(FullDocumentType::UpdateLookup);
        }
        let mut stream = watch.await?;
        let mut read = 0;
        while read < self.changes {
            let change: Option<ChangeStreamEvent<Document>> = stream.next_if_any().await?;
            read += u64::from(change.is_some());
            ensure!(started.elapsed() < PATIENCE, "the driver read {read} of {}", self.changes);
        }
        Ok(self.changes as f64 / started.elapsed().as_secs_f64())
    }

    /// Changes per second until the topic has all of them.
    async fn feed(&self, bus: &Bus, case: &Case, round: usize) -> anyhow::Result<f64> {
        let name = format!("round-{round}");
        let topic = TopicName::parse(&format!("orders.round{round}"))?;
        let source = FeedSource::collection(&self.orders.namespace().db, "orders");
        let position = FeedPosition {
            source: source.to_string(),
            at: StreamPlace::From(self.began),
            time_ms: None,
            copy: None,
            gap: None,
            stopped: None,
        };
        let mut work = bus.unit_of_work();
        work.write(DocumentWrite::put(FEED_POSITIONS, &name, serde_json::to_vec(&position)?));
        work.commit().await?;
        let route = FeedRoute::parse(topic.as_str())?;
        let options =
            FeedOptions { full_document: case.full_document, ..FeedOptions::new(&name, &self.url, source, route) };
        let keeper = Keeper::new(bus.clone());
        let started = Instant::now();
        let flow = feed::start(&keeper, bus, options)?;
        while flow.status().counts.read < self.changes {
            ensure!(started.elapsed() < PATIENCE, "{:?}", flow.status());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let rate = self.changes as f64 / started.elapsed().as_secs_f64();
        keeper.end().await;
        let published: u64 = bus.bounds(&topic).await?.iter().map(|bounds| bounds.next).sum();
        ensure!(published == self.changes, "the topic has {published} of {} changes", self.changes);
        Ok(rate)
    }
}

/// From MongoDB's commit until the event is durable, one change at a time.
async fn latency(set: &ReplicaSet, work_dir: &WorkDir, changes: u64) -> anyhow::Result<Vec<Figure>> {
    let url = set.url("feed_latency");
    let database = Client::with_uri_str(&url).await?.default_database().context("no database")?;
    let orders = database.collection::<Document>("orders");
    let bus = EmbeddedBus::open_at(&work_dir.fresh("latency")?).await?;
    let keeper = Keeper::new(bus.bus.clone());
    let source = FeedSource::collection("feed_latency", "orders");
    let options = FeedOptions::new("latency", &url, source, FeedRoute::parse("orders.latency")?);
    let flow = feed::start(&keeper, &bus.bus, options)?;
    let started = Instant::now();
    while flow.status().state != prom_jobs::FlowState::Running {
        ensure!(started.elapsed() < PATIENCE, "{:?}", flow.status());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for number in 0..changes {
        orders.insert_one(order(number)).await?;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    while flow.status().counts.read < changes {
        ensure!(started.elapsed() < PATIENCE, "{:?}", flow.status());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let stage = flow.status().stages.first().cloned().context("no stage was measured")?;
    keeper.end().await;
    bus.close().await?;
    let figure = |name: &str, millis: u64| Figure::new(name, millis as f64, "ms", Goal::None);
    Ok(vec![figure("commit to publish, p50", stage.p50_ms), figure("commit to publish, p99", stage.p99_ms)])
}

fn order(number: u64) -> Document {
    doc! {
        "_id": number as i64,
        "customer": format!("customer-{}", number % 1000),
        "status": "new",
        "total": number as f64 / 7.0,
        "lines": [ { "sku": "A-1", "count": 2 }, { "sku": "B-7", "count": 1 } ],
        "note": "x".repeat(100),
    }
}
