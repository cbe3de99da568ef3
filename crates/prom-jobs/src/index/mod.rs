//! Declared indexes: a topic names jq expressions, and events are found by the values that these have.
//!
//! ```text
//!   topic ─▶ fold ─▶ index_entries   topic / expression / value / newest first    for each event with such a value
//!                    index_blocks    what to delete when retention removes them
//! ```
//!
//! Each expression of each topic has a fold of its own, so adding one builds that one over what is stored. Entries hold a hash of the
//! value, and events may be gone: readers that follow an entry look at the event and judge it. So an answer is exact once
//! everything is folded, and [`Indexes::search`] answers only then.
//!
//! Promises: programs run under limits on threads that serve nobody else; an entry has a bounded size, whatever the value.

mod query;
mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use prom_engine::{Bus, Error, Program, StoredEvent, UnitOfWork};
use prom_store::DocumentWrite;
use prom_types::{Offset, TopicName};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

pub use self::query::IndexedPage;
use self::value::hash_of;
use crate::keeper::KeptWork;
use crate::limits::{INDEX_AT_ONCE, INDEX_CATCH_UP, INDEX_DELETES, INDEX_PROGRAMS};
use crate::{Fold, FoldInto, GoneEvents, JobError};

const ENTRIES: &str = "index_entries";
const BLOCKS: &str = "index_blocks";
/// Which indexes there are, so that those that are no longer declared are found.
const BUILT: &str = "index_built";

/// The indexes of all topics. Cloning costs a reference count.
#[derive(Clone, Default)]
pub struct Indexes {
    /// Expressions that were compiled, by their text.
    programs: Arc<Mutex<BTreeMap<String, Program>>>,
}

/// How far an index is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexState {
    /// The expression.
    pub expression: String,
    /// Events that are stored and not in it. At 0 it is exact.
    pub behind: u64,
}

/// One index, as far as it is at the moment. Several may work on the same one: their commits refuse each other.
struct OpenIndex {
    fold: Fold,
    into: IndexFold,
}

struct IndexFold {
    /// `topic/expression/`, the expression as a hash.
    prefix: String,
    program: Program,
}

#[derive(Serialize, Deserialize)]
struct Block {
    /// The last of its events.
    last: Offset,
    entries: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Built {
    topic: TopicName,
    expression: String,
}

impl Indexes {
    /// Indexes of which nothing is known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Work for a [`Keeper`](crate::Keeper): builds what is declared, and removes what is no longer.
    pub fn building(&self) -> impl KeptWork + use<> {
        Building(self.clone())
    }

    /// How far the indexes of a topic are.
    pub async fn states(&self, bus: &Bus, topic: &TopicName) -> Result<Vec<IndexState>, JobError> {
        let mut states = Vec::new();
        for expression in bus.topic_settings(topic).await?.index {
            let behind = Fold::open(bus, &fold_name(&expression), topic.clone()).await?.behind().await?;
            states.push(IndexState { expression, behind });
        }
        Ok(states)
    }

    async fn open(&self, bus: &Bus, topic: &TopicName, expression: &str) -> Result<OpenIndex, JobError> {
        let known = self.programs.lock().get(expression).cloned();
        let program = match known {
            Some(program) => program,
            None => {
                let program = bus.compile_program(expression).await?;
                let mut programs = self.programs.lock();
                if programs.len() >= INDEX_PROGRAMS {
                    programs.clear();
                }
                programs.insert(expression.to_owned(), program.clone());
                program
            }
        };
        let fold = Fold::open(bus, &fold_name(expression), topic.clone()).await?;
        Ok(OpenIndex { fold, into: IndexFold { prefix: prefix(topic, expression), program } })
    }

    /// Brings every declared index up to date.
    async fn build_all(&self, bus: &Bus) -> Result<(), JobError> {
        let mut declared = BTreeSet::new();
        for info in bus.topics().await? {
            for expression in &info.settings.index {
                let topic = &info.settings.name;
                declared.insert(prefix(topic, expression));
                let built = Built { topic: topic.clone(), expression: expression.clone() };
                let text = serde_json::to_vec(&built).map_err(unwritable)?;
                bus.document_or_insert(BUILT, &prefix(topic, expression), || text.clone()).await?;
                let OpenIndex { mut fold, mut into } = self.open(bus, topic, expression).await?;
                fold.catch_up(&mut into).await?;
            }
        }
        self.remove_undeclared(bus, &declared).await
    }

    async fn remove_undeclared(&self, bus: &Bus, declared: &BTreeSet<String>) -> Result<(), JobError> {
        let mut after: Option<String> = None;
        loop {
            let page = bus.documents(BUILT, after.as_deref(), INDEX_DELETES).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.key.clone());
            for document in page.iter().filter(|document| !declared.contains(&document.key)) {
                let Built { topic, expression } = serde_json::from_slice(&document.value).map_err(unwritable)?;
                for collection in [ENTRIES, BLOCKS] {
                    delete_below(bus, collection, &document.key).await?;
                }
                let mut work = bus.unit_of_work();
                work.write(Fold::removal(&fold_name(&expression), &topic));
                work.write(DocumentWrite::delete(BUILT, &document.key));
                work.commit().await?;
            }
        }
    }
}

struct Building(Indexes);

impl KeptWork for Building {
    async fn pass(&mut self, bus: &Bus) -> Result<(), JobError> {
        self.0.build_all(bus).await
    }
}

impl FoldInto for IndexFold {
    async fn take(&mut self, bus: &Bus, events: &[StoredEvent], work: &mut UnitOfWork) -> Result<(), JobError> {
        let mut blocks: BTreeMap<u32, (Offset, Block)> = BTreeMap::new();
        let program = self.program.clone();
        let value = move |event: StoredEvent| {
            let mut text = Vec::new();
            event.write_json(&mut text);
            // Of an event that it fails on, the expression has no value.
            program.first(&text).ok().flatten().and_then(|value| hash_of(&value))
        };
        let values = bus.in_turns(events.to_vec(), value).await?;
        for (event, value) in events.iter().zip(values) {
            let Some(value) = value else { continue };
            let entry = format!("{}{value:032x}/{}", self.prefix, place(event));
            work.write(DocumentWrite::put(ENTRIES, &entry, "0"));
            let (_, block) = blocks
                .entry(event.partition())
                .or_insert_with(|| (event.offset(), Block { last: 0, entries: Vec::new() }));
            block.last = event.offset();
            block.entries.push(entry);
        }
        for (partition, (first, block)) in blocks {
            let key = format!("{}{partition:04}/{first:020}", self.prefix);
            work.write(DocumentWrite::put(BLOCKS, &key, serde_json::to_vec(&block).map_err(unwritable)?));
        }
        Ok(())
    }

    async fn forget(&mut self, bus: &Bus, gone: &[GoneEvents], work: &mut UnitOfWork) -> Result<(), JobError> {
        for GoneEvents { partition, offsets } in gone {
            let prefix = format!("{}{partition:04}/", self.prefix);
            let mut after = prefix.clone();
            'blocks: loop {
                let page = bus.documents(BLOCKS, Some(&after), INDEX_AT_ONCE).await?;
                let Some(last) = page.last() else { break };
                after = last.key.clone();
                for document in page {
                    let block: Option<Block> = serde_json::from_slice(&document.value).ok();
                    let Some(block) = block.filter(|_| document.key.starts_with(&prefix)) else { break 'blocks };
                    if block.last >= offsets.end {
                        break 'blocks;
                    }
                    block.entries.iter().for_each(|entry| work.write(DocumentWrite::delete(ENTRIES, entry)));
                    work.write(DocumentWrite::delete(BLOCKS, &document.key));
                }
            }
        }
        Ok(())
    }

    fn reset(&mut self) {}
}

/// The newest first: what is larger sorts first.
fn place(event: &StoredEvent) -> String {
    let stored = u64::MAX - event.stored_ts().max(0).unsigned_abs();
    format!("{stored:016x}/{:04x}/{:016x}", event.partition(), u64::MAX - event.offset())
}

fn prefix(topic: &TopicName, expression: &str) -> String {
    format!("{topic}/{:016x}/", xxh3_64(expression.as_bytes()))
}

fn fold_name(expression: &str) -> String {
    format!("index-{:016x}", xxh3_64(expression.as_bytes()))
}

async fn delete_below(bus: &Bus, collection: &str, prefix: &str) -> Result<(), JobError> {
    loop {
        let page = bus.documents(collection, Some(prefix), INDEX_DELETES).await?;
        let mut work = bus.unit_of_work();
        let mut count = 0;
        for document in page.iter().take_while(|document| document.key.starts_with(prefix)) {
            work.write(DocumentWrite::delete(collection, &document.key));
            count += 1;
        }
        if count == 0 {
            return Ok(());
        }
        work.commit().await?;
    }
}

fn unwritable(error: serde_json::Error) -> JobError {
    JobError::Progress { reason: error.to_string() }
}

impl OpenIndex {
    /// Reads what is new, if that is little. Whether the index is exact now.
    async fn is_exact(&mut self) -> Result<bool, JobError> {
        let Self { fold, into } = self;
        match fold.behind().await? {
            0 => Ok(true),
            few if few <= INDEX_CATCH_UP => {
                fold.catch_up(into).await?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// A topic that is not there has no index.
pub(super) fn none_if_unknown<T>(result: Result<T, Error>) -> Result<Option<T>, JobError> {
    match result {
        Err(Error::UnknownTopic { .. }) => Ok(None),
        other => Ok(Some(other?)),
    }
}
