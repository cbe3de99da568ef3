//! The last frame of the journal torn at every byte, in every way a disk tears.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prom_store::{Commit, Dedupe, EncodedEvent, LogName, Logs, ReadLimit, Store};
use prom_store_embedded::{Create, Disk, EmbeddedOptions, EmbeddedStore, Sizes};
use prom_testkit::{PowerLossDisk, Random, Survival};
use prom_types::{EventId, Json, NewEvent, TopicName};

/// Frames in the journal: magic, checksum, number, length of the body (see the store's journal).
const FRAME_MAGIC: u32 = 0x4d52_464a;
const FRAMES_AT: usize = 4096;
const HEADER_BYTES: usize = 24;

#[derive(Debug, Clone, Copy)]
enum Tear {
    Zeros,
    Garbage,
    EndOfFile,
}

#[tokio::test]
async fn a_tail_torn_at_any_byte_is_cut_and_the_store_works_again() {
    let disk = PowerLossDisk::new().unwrap();
    let store = open(&disk).await;
    for number in 0..5 {
        publish(&store, number).await;
    }
    // As a killed process leaves it: closing would write a checkpoint and need no journal.
    let whole = disk.power_loss(Survival::Everything).unwrap();
    drop(store);
    let (path, frame) = last_frame(&whole);
    let reopened = open(&whole).await;
    assert_eq!(read(&reopened).await.len(), 5);
    let mut random = Random::seeded(1);
    for tear in [Tear::Zeros, Tear::Garbage, Tear::EndOfFile] {
        for byte in 0..frame.len() {
            let torn = disk.power_loss(Survival::Everything).unwrap();
            tear_at(&torn, &path, frame.start + byte..frame.end, tear, &mut random);
            works_again(&torn, &format!("{tear:?} from byte {byte} of {}", frame.len())).await;
        }
    }
}

/// The four events before are there, the fifth is gone, the next gets its offset and stays.
async fn works_again(torn: &PowerLossDisk, context: &str) {
    let store = open(torn).await;
    assert_eq!(store.damage(), [], "{context}");
    let ids: Vec<_> = (0..4).map(id).collect();
    assert_eq!(read(&store).await, ids, "{context}");
    publish(&store, 7).await;
    let killed = torn.power_loss(Survival::Strict).unwrap();
    drop(store);
    let store = open(&killed).await;
    assert_eq!(read(&store).await, [ids, vec![id(7)]].concat(), "{context}");
}

fn tear_at(disk: &PowerLossDisk, path: &Path, torn: std::ops::Range<usize>, tear: Tear, random: &mut Random) {
    let file = disk.open(&disk.root().join(path), Create::Never).unwrap();
    let noise = |random: &mut Random| random.next_u64().to_le_bytes()[3];
    match tear {
        Tear::Zeros => file.write_at(&vec![0; torn.len()], torn.start as u64).unwrap(),
        Tear::Garbage => {
            let mut garbage: Vec<_> = torn.clone().map(|_| noise(random)).collect();
            let mut kept = vec![0; torn.len()];
            file.read_at(&mut kept, torn.start as u64).unwrap();
            // Chance must not write the same byte that was there.
            garbage[0] = kept[0] ^ 0x55;
            file.write_at(&garbage, torn.start as u64).unwrap();
        }
        Tear::EndOfFile => file.set_len(torn.start as u64).unwrap(),
    }
    file.sync_data().unwrap();
}

/// The file with the newest frame, below the root, and the frame's bytes without their padding.
fn last_frame(disk: &PowerLossDisk) -> (PathBuf, std::ops::Range<usize>) {
    let mut newest = (0, PathBuf::new(), 0..0);
    for name in disk.list(&disk.root().join("journal")).unwrap() {
        let path = Path::new("journal").join(name);
        let bytes = contents(disk, &path);
        for at in (FRAMES_AT..bytes.len().saturating_sub(HEADER_BYTES)).step_by(8) {
            let word = |from: usize| u32::from_le_bytes(bytes[at + from..at + from + 4].try_into().unwrap());
            let (number, body) = (word(8), word(16) as usize);
            if word(0) == FRAME_MAGIC && number > newest.0 {
                newest = (number, path.clone(), at..at + HEADER_BYTES + body);
            }
        }
    }
    let (number, path, frame) = newest;
    assert!(number > 0, "no frame in the journal");
    (path, frame)
}

fn contents(disk: &PowerLossDisk, path: &Path) -> Vec<u8> {
    let file = disk.open(&disk.root().join(path), Create::Never).unwrap();
    let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn log() -> LogName {
    LogName::new(TopicName::parse("t").unwrap(), 0)
}

fn id(number: u64) -> EventId {
    EventId::derived(&number.to_string())
}

async fn open(disk: &PowerLossDisk) -> Arc<EmbeddedStore> {
    let options = EmbeddedOptions { disk: Arc::new(disk.clone()), sizes: Sizes::tiny(), ..EmbeddedOptions::default() };
    EmbeddedStore::open_with(disk.root(), options).await.unwrap()
}

async fn publish(store: &EmbeddedStore, number: u64) {
    let event = NewEvent::new(log().topic, Json::trusted(number.to_string().into()));
    let event = EncodedEvent::encode(&event, id(number), 0).unwrap();
    store.commit(Commit::append(log(), event, Dedupe::Window)).await.unwrap();
}

async fn read(store: &EmbeddedStore) -> Vec<EventId> {
    let batch = store.read(&log(), 0, ReadLimit::default()).await.unwrap();
    assert_eq!(batch.damage, None);
    batch.records.iter().map(|record| record.id()).collect()
}
