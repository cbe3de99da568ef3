//! Projectors: documents a second, beside the same documents written by the driver in batches of the same size, with the same
//! indexes and the same concern.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mongodb::bson::{Document, doc};
use prom_flows::projector::{
    JqChangelog, JqEdits, ProjectedCollection, Projection, Projector, ProjectorSettings, ProjectorTarget, VersionRule,
};
use prom_jobs::{Flow, FlowBoard, Keeper};
use prom_testkit::mongo::ReplicaSet;
use prom_types::{NewEvent, TopicName};
use promethean::{Bus, BusOptions, EmbeddedStore};

use crate::args::FlowsArgs;
use crate::figure::{Figure, Goal};
use crate::work_dir::WorkDir;

const TOPIC: &str = "process.state";
const BATCH: u64 = 500;
const HOSTS: u64 = 50;

#[derive(Default)]
struct Rounds {
    raw: Vec<f64>,
    mongo: Vec<f64>,
    mapped: Vec<f64>,
    store: Vec<f64>,
    counters: Vec<f64>,
}

pub async fn measure(args: &FlowsArgs, work_dir: &WorkDir, set: &ReplicaSet) -> anyhow::Result<Vec<Figure>> {
    let dir = work_dir.fresh("projector")?;
    let bus = Bus::start(EmbeddedStore::open(&dir).await?, BusOptions::default()).await?;
    fill(&bus, args.events()).await?;
    let mut rounds = Rounds::default();
    for round in 0..args.rounds {
        eprintln!("  round {} of {}", round + 1, args.rounds);
        let url = |name: &str| set.url(&format!("{name}_{round}"));
        rounds.raw.push(raw(&url("raw"), args.events()).await?);
        let mongo = |name: &str| ProjectorTarget::Mongo { url: url(name), database: None };
        rounds.mongo.push(ours(&bus, args.events(), changelog(&bus, None, mongo("mongo"), round).await?).await?);
        let map = Some(".payload | .host = (.host | ascii_upcase)");
        rounds.mapped.push(ours(&bus, args.events(), changelog(&bus, map, mongo("mapped"), round).await?).await?);
        let store = changelog(&bus, None, ProjectorTarget::Store, round).await?;
        rounds.store.push(ours(&bus, args.events(), store).await?);
        rounds.counters.push(ours(&bus, args.events(), counters(&bus, mongo("counters"), round).await?).await?);
    }
    bus.shutdown().await?;
    let raw = median(&mut rounds.raw);
    let beside = |name: &str, mut values: Vec<f64>, goal| {
        Figure::new(name, median(&mut values), "events/s", goal).beside(raw, "bulk upserts")
    };
    Ok(vec![
        beside("changelog into MongoDB", rounds.mongo, Goal::OfBareAtLeast(0.5)),
        beside("the same with a map in jq", rounds.mapped, Goal::OfBareAtLeast(0.5)),
        beside("changelog into the hub's store", rounds.store, Goal::None),
        beside("counters in transactions", rounds.counters, Goal::None),
    ])
}

fn payload(n: u64) -> serde_json::Value {
    serde_json::json!({
        "processId": format!("host-{}:web:{n}", n % HOSTS), "name": "web", "host": format!("host-{}", n % HOSTS), "pid": n,
        "cpu_pct": 12.5, "mem_mb": 345, "last_seen_ts": 1_700_000_000_000_u64 + n, "status": "alive",
    })
}

async fn fill(bus: &Bus, events: u64) -> anyhow::Result<()> {
    let topic = TopicName::parse(TOPIC)?;
    for batch in 0..events.div_ceil(BATCH) {
        let mut work = bus.unit_of_work();
        for n in batch * BATCH..((batch + 1) * BATCH).min(events) {
            let mut event = NewEvent::new(topic.clone(), payload(n));
            event.key = Some(format!("host-{}:web:{n}", n % HOSTS));
            work.publish(&event)?;
        }
        work.commit().await?;
    }
    Ok(())
}

async fn changelog(
    bus: &Bus,
    map: Option<&str>,
    target: ProjectorTarget,
    round: usize,
) -> anyhow::Result<ProjectorSettings> {
    let map = match map {
        Some(text) => Some(bus.compile_program(text).await?),
        None => None,
    };
    let kind = match (&target, &map) {
        (ProjectorTarget::Store, _) => "store",
        (_, None) => "mongo",
        _ => "mapped",
    };
    Ok(ProjectorSettings {
        name: format!("{kind}_{round}"),
        topic: TopicName::parse(TOPIC)?,
        projection: Projection::Changelog(Arc::new(JqChangelog { map, ..JqChangelog::default() })),
        version: VersionRule::default(),
        collections: vec![collection(&format!("{kind}_{round}"))],
        target,
        warm_from: None,
    })
}

async fn counters(bus: &Bus, target: ProjectorTarget, round: usize) -> anyhow::Result<ProjectorSettings> {
    let program = r#"{collection: "host_stats", key: .payload.host, inc: {events: 1}}"#;
    Ok(ProjectorSettings {
        name: format!("counters_{round}"),
        topic: TopicName::parse(TOPIC)?,
        projection: Projection::Transactional(Arc::new(JqEdits(bus.compile_program(program).await?))),
        version: VersionRule::default(),
        collections: vec![ProjectedCollection { name: "host_stats".to_owned(), indexes: Vec::new() }],
        target,
        warm_from: None,
    })
}

fn collection(name: &str) -> ProjectedCollection {
    let indexes = vec![vec!["host".to_owned(), "name".to_owned()], vec!["status".to_owned()]];
    ProjectedCollection { name: name.to_owned(), indexes }
}

/// Events a second, from the start of the projector until it has all.
async fn ours(bus: &Bus, events: u64, settings: ProjectorSettings) -> anyhow::Result<f64> {
    let keeper = Keeper::new(bus.clone());
    let began = Instant::now();
    let projector = Projector::start(bus, &keeper, &FlowBoard::default(), settings).map_err(anyhow::Error::msg)?;
    while projector.status().counts.read < events {
        if let Some(error) = projector.status().error {
            anyhow::bail!("the projector failed: {}", error.reason);
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let rate = events as f64 / began.elapsed().as_secs_f64();
    keeper.end().await;
    Ok(rate)
}

/// What a program would do that has the documents in memory already.
async fn raw(url: &str, documents: u64) -> anyhow::Result<f64> {
    let database = mongodb::Client::with_uri_str(url).await?.default_database();
    let database = database.ok_or_else(|| anyhow::anyhow!("the address names no database"))?;
    let indexes = vec![
        doc! { "key": { "_key": 1 }, "name": "by_key", "unique": true },
        doc! { "key": { "host": 1, "name": 1 }, "name": "by_host_name" },
        doc! { "key": { "status": 1 }, "name": "by_status" },
    ];
    database.run_command(doc! { "createIndexes": "raw", "indexes": indexes }).await?;
    let began = Instant::now();
    for batch in 0..documents.div_ceil(BATCH) {
        let mut statements = Vec::new();
        for n in batch * BATCH..((batch + 1) * BATCH).min(documents) {
            let key = format!("host-{}:web:{n}", n % HOSTS);
            let mut whole = doc! { "_key": &key, "_v": n as i64, "_ts": 1_700_000_000_000_i64 };
            whole.extend(serde_json::from_value::<Document>(payload(n))?);
            statements.push(doc! { "q": { "_key": key }, "u": whole, "upsert": true });
        }
        let command = doc! { "update": "raw", "updates": statements, "ordered": false,
        "writeConcern": { "w": "majority", "j": true } };
        let answer = database.run_command(command).await?;
        anyhow::ensure!(!answer.contains_key("writeErrors"), "the driver's own writes failed: {answer}");
    }
    Ok(documents as f64 / began.elapsed().as_secs_f64())
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
