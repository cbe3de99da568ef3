//! Declared indexes: a topic names jq expressions, and events are found by the values that these have.
//!
//! ```text
//!   topic ─▶ fold ─▶ index_entries   topic / expression / value / newest first    for each event with such a value
//!                    index_blocks    what to delete when retention removes them
//! ```
//!
//! Each expression of each topic has a fold of its own, so adding one builds that one over what is stored. It has another over the
//! topic's dead letters, by the originals in them. Entries hold a hash of the value, and events may be gone: readers that follow an
//! entry look at the event and judge it. So an answer is exact once everything is folded, and [`Indexes::search`] and
//! [`Indexes::places`] answer only then.
//!
//! Promises: programs run under limits on threads that serve nobody else; an entry has a bounded size, whatever the value.

mod places;
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

pub use self::places::{IndexedPlaces, PlacesAsked};
pub use self::query::IndexedPage;
use self::value::hash_of;
use crate::keeper::KeptWork;
use crate::letters::read_letter;
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
    of: IndexOf,
}

/// What an expression is asked of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum IndexOf {
    /// The event itself.
    #[default]
    Event,
    /// The event in a dead letter.
    Original,
}

/// An expression over the events of a topic, or over the originals in its letters.
struct IndexName<'a> {
    /// The topic that is folded.
    topic: &'a TopicName,
    expression: &'a str,
    of: IndexOf,
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
    #[serde(default)]
    of: IndexOf,
}

impl IndexName<'_> {
    fn hash(&self) -> u64 {
        match self.of {
            IndexOf::Event => xxh3_64(self.expression.as_bytes()),
            IndexOf::Original => xxh3_64(format!("original {}", self.expression).as_bytes()),
        }
    }

    fn prefix(&self) -> String {
        format!("{}/{:016x}/", self.topic, self.hash())
    }

    fn fold(&self) -> String {
        format!("index-{:016x}", self.hash())
    }
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
            let name = IndexName { topic, expression: &expression, of: IndexOf::Event };
            let behind = Fold::open(bus, &name.fold(), topic.clone()).await?.behind().await?;
            states.push(IndexState { expression, behind });
        }
        Ok(states)
    }

    async fn open(&self, bus: &Bus, name: &IndexName<'_>) -> Result<OpenIndex, JobError> {
        let IndexName { topic, expression, of } = *name;
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
        let fold = Fold::open(bus, &name.fold(), topic.clone()).await?;
        Ok(OpenIndex { fold, into: IndexFold { prefix: name.prefix(), program, of } })
    }

    /// Brings every declared index up to date.
    async fn build_all(&self, bus: &Bus) -> Result<(), JobError> {
        let mut declared = BTreeSet::new();
        let topics = bus.topics().await?;
        let names: BTreeSet<&TopicName> = topics.iter().map(|info| &info.settings.name).collect();
        for info in &topics {
            let topic = &info.settings.name;
            let letters = topic.dead_letters().filter(|letters| names.contains(letters));
            for expression in &info.settings.index {
                let of_events = IndexName { topic, expression, of: IndexOf::Event };
                let of_letters = letters.iter().map(|topic| IndexName { topic, expression, of: IndexOf::Original });
                for name in std::iter::once(of_events).chain(of_letters) {
                    declared.insert(name.prefix());
                    self.build(bus, &name).await?;
                }
            }
        }
        self.remove_undeclared(bus, &declared).await
    }

    async fn build(&self, bus: &Bus, name: &IndexName<'_>) -> Result<(), JobError> {
        let built = Built { topic: name.topic.clone(), expression: name.expression.to_owned(), of: name.of };
        let text = serde_json::to_vec(&built).map_err(unwritable)?;
        bus.document_or_insert(BUILT, &name.prefix(), || text.clone()).await?;
        let OpenIndex { mut fold, mut into } = self.open(bus, name).await?;
        fold.catch_up(&mut into).await
    }

    async fn remove_undeclared(&self, bus: &Bus, declared: &BTreeSet<String>) -> Result<(), JobError> {
        let mut after: Option<String> = None;
        loop {
            let page = bus.documents(BUILT, after.as_deref(), INDEX_DELETES).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.key.clone());
            for document in page.iter().filter(|document| !declared.contains(&document.key)) {
                let Built { topic, expression, of } = serde_json::from_slice(&document.value).map_err(unwritable)?;
                for collection in [ENTRIES, BLOCKS] {
                    delete_below(bus, collection, &document.key).await?;
                }
                let mut work = bus.unit_of_work();
                let name = IndexName { topic: &topic, expression: &expression, of };
                work.write(Fold::removal(&name.fold(), &topic));
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

impl IndexOf {
    /// What the expression reads; `None` where there is no such thing.
    fn text(self, event: &StoredEvent) -> Option<Vec<u8>> {
        match self {
            Self::Event => {
                let mut text = Vec::new();
                event.write_json(&mut text);
                Some(text)
            }
            Self::Original => Some(read_letter(event)?.original.as_bytes().to_vec()),
        }
    }
}

impl FoldInto for IndexFold {
    async fn take(&mut self, bus: &Bus, events: &[StoredEvent], work: &mut UnitOfWork) -> Result<(), JobError> {
        let mut blocks: BTreeMap<u32, (Offset, Block)> = BTreeMap::new();
        let (program, of) = (self.program.clone(), self.of);
        let value = move |event: StoredEvent| {
            // Of an event that it fails on, the expression has no value.
            program.first(&of.text(&event)?).ok().flatten().and_then(|value| hash_of(&value))
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
