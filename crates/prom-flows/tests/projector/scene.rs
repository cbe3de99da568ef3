//! A bus in memory, a projector on it, and the documents as they are read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mongodb::bson::{Document, doc};
use prom_engine::{Bus, BusOptions, TopicSettings};
use prom_flows::projector::{
    JqChangelog, JqEdits, ProjectedCollection, Projection, Projector, ProjectorSettings, ProjectorTarget, VersionRule,
};
use prom_jobs::{Collection, CollectionName, Flow, FlowBoard, FlowStatus, Keeper, ListFrom};
use prom_store::{MemoryStore, SystemClock};
use prom_types::TopicName;
use serde_json::{Value, json};

pub const TOPIC: &str = "process.state";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Store,
    Mongo,
}

pub const PLACES: [Place; 2] = [Place::Store, Place::Mongo];

pub struct Scene {
    pub bus: Bus,
    pub keeper: Keeper,
    pub board: FlowBoard,
    pub place: Place,
    pub url: String,
}

/// What a changelog is told besides its name.
#[derive(Default)]
pub struct Programs {
    pub key: Option<&'static str>,
    pub map: Option<&'static str>,
    pub version: Option<&'static str>,
    pub tombstone: Option<&'static str>,
}

impl Scene {
    pub async fn at(place: Place) -> Self {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
        let bus = Bus::start(store, BusOptions::default()).await.unwrap();
        let topic = TopicSettings::new(TOPIC).unwrap().partitions(3);
        bus.create_topic(topic).await.unwrap();
        let url = match place {
            Place::Store => String::new(),
            Place::Mongo => prom_testkit::mongo::shared().await.unwrap().fresh_url(),
        };
        Self { keeper: Keeper::new(bus.clone()), bus, board: FlowBoard::default(), place, url }
    }

    pub fn target(&self) -> ProjectorTarget {
        match self.place {
            Place::Store => ProjectorTarget::Store,
            Place::Mongo => ProjectorTarget::Mongo { url: self.url.clone(), database: None },
        }
    }

    pub fn start(&self, settings: ProjectorSettings) -> Projector {
        Projector::start(&self.bus, &self.keeper, &self.board, settings).unwrap()
    }

    pub async fn changelog(&self, programs: Programs) -> ProjectorSettings {
        let mut compiled = JqChangelog::default();
        for (text, program) in [
            (programs.key, &mut compiled.key),
            (programs.map, &mut compiled.map),
            (programs.version, &mut compiled.version),
            (programs.tombstone, &mut compiled.tombstone),
        ] {
            if let Some(text) = text {
                *program = Some(self.bus.compile_program(text).await.unwrap());
            }
        }
        let version = if programs.version.is_some() { VersionRule::Given } else { VersionRule::ByPlace };
        ProjectorSettings {
            name: "processes".to_owned(),
            topic: TopicName::parse(TOPIC).unwrap(),
            projection: Projection::Changelog(Arc::new(compiled)),
            version,
            collections: vec![collection("processes", &[&["host", "name"], &["status"]])],
            target: self.target(),
            warm_from: None,
        }
    }

    pub async fn transactional(&self, edits: &str, collections: &[&str]) -> ProjectorSettings {
        let program = self.bus.compile_program(edits).await.unwrap();
        ProjectorSettings {
            name: "stats".to_owned(),
            topic: TopicName::parse(TOPIC).unwrap(),
            projection: Projection::Transactional(Arc::new(JqEdits(program))),
            version: VersionRule::default(),
            collections: collections.iter().map(|name| collection(name, &[])).collect(),
            target: self.target(),
            warm_from: None,
        }
    }

    pub async fn publish(&self, key: &str, payload: Value) {
        self.bus.publish(TOPIC, payload).key(key).await.unwrap();
    }

    /// Waits until the projector has everything that was published.
    pub async fn in_step(&self, projector: &Projector) -> FlowStatus {
        let group = projector.status().details["group"].clone();
        wait_for("the projector", async || {
            let lag = self.bus.lag(TOPIC, &group).await;
            lag.is_ok_and(|lag| lag.lag_events == 0) && projector.status().pending == Some(0)
        })
        .await;
        projector.status()
    }

    /// By key, without what a target adds.
    pub async fn documents(&self, name: &str) -> BTreeMap<String, Value> {
        let documents = match self.place {
            Place::Store => self.in_store(name).await,
            Place::Mongo => self.in_mongo(name).await,
        };
        let keyed = |mut document: Value| {
            let members = document.as_object_mut().unwrap();
            members.remove("_id");
            (members["_key"].as_str().unwrap().to_owned(), document)
        };
        documents.into_iter().map(keyed).collect()
    }

    /// Without the members that every document has.
    pub async fn bodies(&self, name: &str) -> BTreeMap<String, Value> {
        let mut documents = self.documents(name).await;
        for document in documents.values_mut() {
            document.as_object_mut().unwrap().retain(|name, _| !name.starts_with('_'));
        }
        documents
    }

    async fn in_store(&self, name: &str) -> Vec<Value> {
        let name = CollectionName::parse(name).unwrap();
        let Some(collection) = Collection::open(&self.bus, &name).await.unwrap() else { return Vec::new() };
        let count = collection.info.count;
        let page = collection.list(&self.bus, &[], &ListFrom::Offset(0), 10_000).await.unwrap();
        assert_eq!(page.documents.len() as u64, count, "the count is exact");
        page.documents.iter().map(|text| serde_json::from_slice(text).unwrap()).collect()
    }

    pub async fn mongo(&self) -> mongodb::Database {
        mongodb::Client::with_uri_str(&self.url).await.unwrap().default_database().unwrap()
    }

    async fn in_mongo(&self, name: &str) -> Vec<Value> {
        let mut found = self.mongo().await.collection::<Document>(name).find(doc! {}).await.unwrap();
        let mut documents = Vec::new();
        while found.advance().await.unwrap() {
            documents.push(serde_json::to_value(found.deserialize_current().unwrap()).unwrap());
        }
        documents
    }

    pub async fn letters(&self) -> Vec<Value> {
        match self.bus.read_topic(&format!("dlq.{TOPIC}"), Default::default(), 1000).await {
            Ok(page) => page.events.iter().map(|letter| letter.payload().unwrap()).collect(),
            Err(_) => Vec::new(),
        }
    }

    pub async fn end(self) {
        self.keeper.end().await;
        self.bus.shutdown().await.unwrap();
    }
}

pub fn collection(name: &str, indexes: &[&[&str]]) -> ProjectedCollection {
    let indexes = indexes.iter().map(|fields| fields.iter().map(|field| (*field).to_owned()).collect()).collect();
    ProjectedCollection { name: name.to_owned(), indexes }
}

pub fn process(host: &str, status: &str, cpu: i64) -> Value {
    json!({"host": host, "name": "web", "status": status, "cpu": cpu})
}

pub async fn wait_for(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..6000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("waited for {what} in vain");
}
