//! Every part of a data directory, removed and emptied in turn: a store opens with everything, says which of it
//! is lost, or refuses and leaves the rest alone. It never takes the directory for an empty one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prom_store::{
    Commit, CursorName, Cursors, Damage, Dedupe, DocumentWrite, Documents, EncodedEvent, Expect, LogName, Logs,
    ReadLimit, Store, StoreError,
};
use prom_store_embedded::{Drive, EmbeddedOptions, EmbeddedStore, Sizes, fsck};
use prom_types::{EventId, GroupName, Json, NewEvent, Offset, TopicName};
use tempfile::TempDir;

const EVENTS: u64 = 150;
const TOPICS: [&str; 2] = ["bills", "orders"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    Removed,
    Emptied,
}

/// What a store makes of a directory that lacks something.
#[derive(Debug, PartialEq)]
enum Opened {
    /// Everything is there.
    Whole,
    /// The rest is there, and what is lost is named.
    Damaged(Vec<Damage>),
    /// It says what is missing.
    Refused(String),
}

#[tokio::test]
async fn a_directory_without_one_of_its_parts_is_whole_or_says_so() {
    let template = Template::make().await;
    let mut seen = BTreeSet::new();
    for part in template.different_parts() {
        for loss in [Loss::Removed, Loss::Emptied] {
            let context = format!("{loss:?} {}", part.display());
            let (checked, dir) = (template.without(&part, loss), template.without(&part, loss));
            let report = fsck::fsck(checked.path(), &options(), |_| {});
            let before = files_below(dir.path());
            let opened = open_and_judge(dir.path(), &context).await;
            match (kind(&part), &opened) {
                ("FORMAT" | "journal" | "segments" | "documents", Opened::Refused(reason)) => {
                    assert!(reason.contains(kind(&part)), "{context}: {reason}");
                    let after = files_below(dir.path());
                    assert!(before.iter().all(|(path, bytes)| after.get(path) == Some(bytes)), "{context}: it changed");
                }
                ("LOCK" | "idx" | "ids" | "NAME", Opened::Whole) => {}
                ("seg" | "folder of a log", Opened::Damaged(damage)) => {
                    let named = |damage: &Damage| damage.file.starts_with(dir.path().join(&part));
                    assert!(damage.iter().all(named), "{context}: {damage:?}");
                }
                // Free files hold nothing; the database has files that it does without.
                ("a journal file" | "a file of the database", _) => {}
                (kind, opened) => panic!("{context}: a directory without its {kind} is {opened:?}"),
            }
            let sound = report.as_ref().is_ok_and(fsck::FsckReport::is_sound);
            assert_eq!(sound, opened == Opened::Whole, "{context}: fsck says {report:?}, opening {opened:?}");
            seen.insert(kind(&part));
        }
    }
    let kinds = ["FORMAT", "LOCK", "NAME", "a file of the database", "a journal file", "documents", "folder of a log"];
    assert!(seen.into_iter().eq(kinds.into_iter().chain(["ids", "idx", "journal", "seg", "segments"])));
}

#[tokio::test]
async fn what_opening_refuses_is_usable_again_after_a_rebuild() {
    let template = Template::make().await;
    for part in template.different_parts() {
        let dir = template.without(&part, Loss::Removed);
        let Err(refused) = EmbeddedStore::open_with(dir.path(), options()).await else {
            continue;
        };
        fsck::rebuild(dir.path(), &options(), |_| {}).unwrap();
        let store = EmbeddedStore::open_with(dir.path(), options()).await.unwrap();
        let found = StoreContent::read(&store).await;
        let lost_events = part.starts_with("segments");
        assert_eq!(found.events == template.events, !lost_events, "{} after {refused}", part.display());
        let next = publish(&store, "orders", "after the rebuild", Dedupe::Window).await;
        assert_eq!(next, EVENTS, "{}: no offset is given twice", part.display());
        let again = publish(&store, "orders", "orders 7", Dedupe::Exact).await;
        assert_eq!(again == 7, !lost_events, "{}: an exact id is known with its event", part.display());
    }
}

/// Opens, reads, adds a topic, and opens again: what could be read stays so.
async fn open_and_judge(dir: &Path, context: &str) -> Opened {
    let store = match EmbeddedStore::open_with(dir, options()).await {
        Ok(store) => store,
        Err(StoreError::Incomplete { path, reason }) => return Opened::Refused(format!("{} {reason}", path.display())),
        Err(error) => return Opened::Refused(error.to_string()),
    };
    let found = StoreContent::read(&store).await;
    publish(&store, "fresh", "a new topic", Dedupe::Window).await;
    publish(&store, "orders", "one more", Dedupe::Window).await;
    let mut damage = store.damage();
    damage.extend(found.damage.clone());
    store.close().await.unwrap();
    drop(store);
    let store = EmbeddedStore::open_with(dir, options()).await.unwrap();
    let again = StoreContent::read(&store).await;
    for (log, events) in &found.events {
        assert!(again.events[log].starts_with(events), "{context}: {log} changed by adding a topic");
    }
    let everything =
        found.events.values().all(|ids| ids.len() as u64 == EVENTS) && found.has_document && found.has_cursor;
    assert!(everything || !damage.is_empty(), "{context}: something is lost without a word: {found:?}");
    if damage.is_empty() { Opened::Whole } else { Opened::Damaged(damage) }
}

/// What is in the directories of these tests, and which kind of part a path is.
fn kind(part: &Path) -> &'static str {
    let names: Vec<_> = part.iter().map(|name| name.to_str().unwrap()).collect();
    match names.as_slice() {
        ["FORMAT"] => "FORMAT",
        ["LOCK"] => "LOCK",
        ["journal"] => "journal",
        ["journal", _] => "a journal file",
        ["segments"] => "segments",
        ["segments", _] => "folder of a log",
        ["segments", _, "NAME"] => "NAME",
        ["segments", _, file] if file.ends_with(".seg") => "seg",
        ["segments", _, file] if file.ends_with(".idx") => "idx",
        ["segments", _, file] if file.ends_with(".ids") => "ids",
        ["documents"] => "documents",
        ["documents", ..] => "a file of the database",
        _ => panic!("{} is no part of a data directory", part.display()),
    }
}

/// A directory that has lived long enough for journal files to be freed and segments to be sealed.
struct Template {
    dir: TempDir,
    events: BTreeMap<LogName, Vec<EventId>>,
}

impl Template {
    async fn make() -> Self {
        let dir = TempDir::new().unwrap();
        let store = EmbeddedStore::open_with(dir.path(), options()).await.unwrap();
        let write = DocumentWrite {
            collection: "notes".into(),
            key: "first".into(),
            value: Some(b"{}".to_vec().into()),
            expect: Expect::Anything,
        };
        store.commit(Commit::document(write)).await.unwrap();
        store.take_cursor(&cursor(), 3).await.unwrap();
        for number in 0..EVENTS {
            for topic in TOPICS {
                publish(&store, topic, &format!("{topic} {number}"), Dedupe::Exact).await;
            }
        }
        let events = StoreContent::read(&store).await.events;
        store.close().await.unwrap();
        assert!(!dir.path().join("journal/0.journal").exists(), "the first journal file was freed");
        Self { dir, events }
    }

    /// Every file and every directory, by its path from the root.
    fn parts(&self) -> Vec<PathBuf> {
        let mut parts = Vec::new();
        list(self.dir.path(), Path::new(""), &mut parts);
        parts
    }

    /// The same, with only the first and the last segment of each log: those between them are like the first.
    fn different_parts(&self) -> Vec<PathBuf> {
        let parts = self.parts();
        let alike = |a: &Path, b: &Path| kind(a) == kind(b) && a.parent() == b.parent();
        let ends = |part: &&PathBuf| {
            let mut like = parts.iter().filter(|other| alike(part, other));
            !part.starts_with("segments") || like.next() == Some(part) || like.next_back() == Some(part)
        };
        parts.iter().filter(ends).cloned().collect()
    }

    fn without(&self, part: &Path, loss: Loss) -> TempDir {
        let dir = TempDir::new().unwrap();
        for path in self.parts() {
            let (from, to) = (self.dir.path().join(&path), dir.path().join(&path));
            if from.is_dir() { fs::create_dir(to).unwrap() } else { copy_file(&from, &to) }
        }
        let path = dir.path().join(part);
        match (path.is_dir(), loss) {
            (true, Loss::Removed) => fs::remove_dir_all(path).unwrap(),
            (true, Loss::Emptied) => {
                fs::remove_dir_all(&path).unwrap();
                fs::create_dir(path).unwrap();
            }
            (false, Loss::Removed) => fs::remove_file(path).unwrap(),
            (false, Loss::Emptied) => fs::write(path, "").unwrap(),
        }
        dir
    }
}

#[derive(Debug)]
struct StoreContent {
    events: BTreeMap<LogName, Vec<EventId>>,
    damage: Vec<Damage>,
    has_document: bool,
    has_cursor: bool,
}

impl StoreContent {
    async fn read(store: &EmbeddedStore) -> Self {
        let mut found = Self {
            events: BTreeMap::new(),
            damage: Vec::new(),
            has_document: store.document("notes", "first").await.unwrap().is_some(),
            has_cursor: store.cursor(&cursor()).await.unwrap().is_some_and(|cursor| cursor.floor == 3),
        };
        for topic in TOPICS {
            let events = found.events.entry(log(topic)).or_default();
            let mut from = 0;
            loop {
                let batch = store.read(&log(topic), from, ReadLimit::default()).await.unwrap();
                events.extend(batch.records.iter().map(|record| record.id()));
                found.damage.extend(batch.damage);
                if batch.next >= batch.bounds.next {
                    break;
                }
                assert!(batch.next > from, "reading {topic} makes no progress at {from}");
                from = batch.next;
            }
        }
        found
    }
}

async fn publish(store: &Arc<EmbeddedStore>, topic: &str, name: &str, dedupe: Dedupe) -> Offset {
    let mut event = NewEvent::new(log(topic).topic, Json::from_value(&"·".repeat(60)).unwrap());
    event.exact = dedupe == Dedupe::Exact;
    let event = EncodedEvent::encode(&event, EventId::derived(name), 0).unwrap();
    store.commit(Commit::append(log(topic), event, dedupe)).await.unwrap().stored[0].offset
}

fn options() -> EmbeddedOptions {
    EmbeddedOptions { sizes: Sizes::tiny(), drive: Drive::Inline, ..EmbeddedOptions::default() }
}

fn log(topic: &str) -> LogName {
    LogName::new(TopicName::parse(topic).unwrap(), 0)
}

fn cursor() -> CursorName {
    CursorName::new(log("orders"), GroupName::parse("billing").unwrap())
}

/// The database makes its files longer than their contents; only what takes room is copied.
fn copy_file(from: &Path, to: &Path) {
    let (from, to) = (File::open(from).unwrap(), File::create(to).unwrap());
    let about = from.metadata().unwrap();
    io::copy(&mut from.take(about.blocks() * 512), &mut &to).unwrap();
    to.set_len(about.len()).unwrap();
}

/// The files that are ours, and their contents.
fn files_below(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut parts = Vec::new();
    list(dir, Path::new(""), &mut parts);
    let contents = |part: PathBuf| Some((part.clone(), fs::read(dir.join(part)).ok()?));
    let ours = |part: &PathBuf| !part.ends_with("LOCK") && !part.starts_with("documents");
    parts.into_iter().filter(ours).filter_map(contents).collect()
}

fn list(root: &Path, below: &Path, parts: &mut Vec<PathBuf>) {
    let mut names: Vec<_> = fs::read_dir(root.join(below)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    for name in names {
        let part = below.join(name);
        parts.push(part.clone());
        if root.join(&part).is_dir() {
            list(root, &part, parts);
        }
    }
}
