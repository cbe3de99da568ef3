//! A data directory whose journal and segments were damaged: what a store makes of it.
//!
//! Promises held: nothing panics; it opens or says why not; whatever it then reads is what was once written, at its
//! own offset. An input is a script of damages.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use prom_engine::{Bus, BusOptions, Position};
use prom_store::{LogName, Logs, ReadLimit, Store};
use prom_store_embedded::{EmbeddedOptions, EmbeddedStore, Sizes, Sync, fsck};
use prom_types::{Offset, TopicName};

use crate::drive::Target;

pub const TARGET: Target = Target { name: "directory", run, seeds, words: Vec::new };

/// One damage: which file, what is done, where, with what.
const STEP_BYTES: usize = 8;
const TOPICS: [&str; 2] = ["a", "b.c"];
const EVENTS: usize = 300;

/// A directory as its process left it, and what was in it.
struct Template {
    dir: tempfile::TempDir,
    files: Vec<PathBuf>,
    written: BTreeMap<(String, Offset), Vec<u8>>,
}

fn seeds() -> Vec<Vec<u8>> {
    let step = |file: u8, what: u8, at: u32| {
        let mut bytes = vec![file, what];
        bytes.extend_from_slice(&at.to_le_bytes());
        bytes.extend_from_slice(&[0x40, 3]);
        bytes
    };
    (0..8u8).flat_map(|file| (0..4u8).map(move |what| step(file, what, u32::from(file) * 977))).collect()
}

pub fn run(input: &[u8]) {
    static TEMPLATE: OnceLock<Template> = OnceLock::new();
    let template = TEMPLATE.get_or_init(Template::make);
    let dir = tempfile::tempdir().unwrap();
    copy(template.dir.path(), dir.path());
    for step in input.chunks_exact(STEP_BYTES).take(8) {
        damage(template, dir.path(), step);
    }
    drop(fsck::fsck(dir.path(), &options(), |_| {}));
    runtime().block_on(read_everything(template, dir.path()));
}

fn damage(template: &Template, dir: &Path, step: &[u8]) {
    let file = dir.join(&template.files[usize::from(step[0]) % template.files.len()]);
    let mut bytes = std::fs::read(&file).unwrap();
    if bytes.is_empty() {
        return;
    }
    let at = u32::from_le_bytes([step[2], step[3], step[4], step[5]]) as usize % bytes.len();
    let piece = at..(at + usize::from(step[7]) * 16).min(bytes.len());
    match step[1] % 5 {
        0 => bytes[at] ^= step[6].max(1),
        1 => bytes.truncate(at),
        2 => bytes[piece].fill(step[6]),
        3 => {
            let moved = bytes[piece].to_vec();
            let to = bytes.len() - moved.len();
            bytes[to..].copy_from_slice(&moved);
        }
        _ => bytes.extend_from_within(piece),
    }
    std::fs::write(file, bytes).unwrap();
}

async fn read_everything(template: &Template, dir: &Path) {
    // A damaged header may be a reason not to open at all.
    let Ok(store) = EmbeddedStore::open_with(dir, options()).await else {
        return;
    };
    for topic in TOPICS {
        let log = LogName::new(TopicName::parse(topic).unwrap(), 0);
        let mut from = 0;
        while let Ok(batch) = store.read(&log, from, ReadLimit::default()).await {
            for record in &batch.records {
                let mut json = Vec::new();
                record.write_json(&log, &mut json);
                let expected = template.written.get(&(topic.to_owned(), record.offset()));
                assert_eq!(Some(&json), expected, "{topic} {} was never written like this", record.offset());
            }
            assert!(batch.next >= from && batch.next <= batch.bounds.next.max(from), "{batch:?} from {from}");
            if batch.next <= from {
                break;
            }
            from = batch.next;
        }
    }
    drop(store.close().await);
}

impl Template {
    /// Events in sealed segments, in the last one and in the journal; copied from under a store that runs, as a kill
    /// leaves it.
    fn make() -> Self {
        let (live, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let written = runtime().block_on(async {
            let store = EmbeddedStore::open_with(live.path(), options()).await.unwrap();
            let bus = Bus::start(store, BusOptions::default()).await.unwrap();
            for n in 0..EVENTS {
                let topic = TOPICS[n % TOPICS.len()];
                bus.publish(topic, serde_json::json!({"n": n, "text": "x".repeat(n % 90)})).key("k").await.unwrap();
            }
            let mut written = BTreeMap::new();
            for topic in TOPICS {
                let mut tail = bus.tail(topic).from(Position::Earliest).start().await.unwrap();
                while written.keys().filter(|(of, _)| of == topic).count() < EVENTS / TOPICS.len() {
                    for event in tail.next_batch().await.unwrap() {
                        let mut json = Vec::new();
                        event.write_json(&mut json);
                        written.insert((topic.to_owned(), event.offset()), json);
                    }
                }
            }
            until_segments_are_sealed(live.path()).await;
            copy(live.path(), dir.path());
            bus.shutdown().await.unwrap();
            written
        });
        let files = ours(dir.path());
        assert!(written.len() == EVENTS, "{} events in {files:?}", written.len());
        Self { dir, files, written }
    }
}

/// Files of the journal and the segments; the documents belong to a database that is not ours to fuzz.
fn ours(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    list(dir, dir, &mut files);
    files.retain(|file| file.starts_with("journal") || file.starts_with("segments"));
    files
}

/// They are filled behind the journal.
async fn until_segments_are_sealed(dir: &Path) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !ours(dir).iter().any(|file| file.extension().is_some_and(|kind| kind == "idx")) {
        assert!(Instant::now() < deadline, "no segment is sealed: {:?}", ours(dir));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn options() -> EmbeddedOptions {
    EmbeddedOptions { sizes: Sizes::tiny(), sync: Sync::Os, ..EmbeddedOptions::default() }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn copy(from: &Path, to: &Path) {
    let mut files = Vec::new();
    list(from, from, &mut files);
    for file in files {
        let target = to.join(&file);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        // The background thread of a store that runs may take a file away.
        drop(std::fs::copy(from.join(&file), target));
    }
}

/// Every file below, by its path from the root, in order.
fn list(root: &Path, dir: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true => list(root, &path, files),
            false => files.push(path.strip_prefix(root).unwrap().to_path_buf()),
        }
    }
}
