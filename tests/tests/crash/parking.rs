//! A process killed while events fail, keys park and letters are given back: nothing is lost, no letter is there twice, no floor
//! moves back, and each key is in order.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use prom_testkit::Random;
use prom_tests::small_files;
use promethean::{
    Bus, BusOptions, EmbeddedOptions, EmbeddedStore, LetterOutcome, LetterRef, Order, Position, Subscription,
};
use serde_json::Value;
use tempfile::TempDir;

use super::child::{self, CrashChild};
use crate::rounds::rounds;

/// After this many kills a new directory is started.
const KILLS_PER_DIRECTORY: u64 = 10;
const KEYS: u64 = 12;

/// More with `PROM_PARKING_KILLS` (100 is the long form); other kill points with `PROM_CRASH_SEED`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parked_keys_and_given_letters_survive_a_kill_at_any_moment() {
    let (kills, seed) = (rounds("PROM_PARKING_KILLS", 8), rounds("PROM_CRASH_SEED", 1));
    eprintln!("parking: {kills} kills, seed {seed}");
    let mut random = Random::seeded(seed);
    let mut done = 0;
    while done < kills {
        let home = TempDir::new().unwrap();
        let here = KILLS_PER_DIRECTORY.min(kills - done);
        for life in 0..here {
            let mut child =
                CrashChild::start_program(env!("CARGO_BIN_EXE_crash_parking"), home.path(), random.next_u64());
            if life > 0 && random.one_in(6) {
                child.live_for_ms(random.within(0..60));
            } else {
                child.wait_for_more_facts(random.within(20..400));
                child.live_for_ms(random.within(0..100));
            }
            child.kill();
        }
        done += here;
        Judge::of(home.path()).await.judge(here).await;
    }
}

struct Judge {
    bus: Bus,
    /// Offsets whose acks were answered, in order.
    acked: Vec<u64>,
}

impl Judge {
    /// Opens what the children left, and reads what they wrote down.
    async fn of(home: &Path) -> Self {
        let text = fs::read_to_string(child::facts(home)).unwrap();
        let (mut acked, mut floor) = (Vec::new(), 0);
        // The last line may be cut off.
        for fact in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            acked.extend(fact["acked"].as_u64());
            if let Some(found) = fact["floor"].as_u64() {
                assert!(found >= floor, "the floor went from {floor} back to {found}");
                floor = found;
            }
        }
        let options = EmbeddedOptions { sizes: small_files(), ..EmbeddedOptions::default() };
        let store = EmbeddedStore::open_with(child::data(home), options).await.unwrap();
        assert_eq!(store.damage(), [], "a kill damages nothing");
        let bus = Bus::start(store, BusOptions::default()).await.unwrap();
        assert!(bus.cursor("orders", "billing").await.unwrap()[0].offset >= floor);
        Self { bus, acked }
    }

    /// Gives everything back to a handler that does not fail, and looks at what is there then.
    async fn judge(mut self, kills: u64) {
        let noted = self.acked.len();
        let group = self.bus.subscribe("orders", "billing").from(Position::Earliest).order(Order::Key).park();
        let mut orders = group.max_attempts(1).start().await.unwrap();
        let next = self.bus.topic("orders").await.unwrap().partitions[0].bounds.next;
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        while !self.is_empty(next).await {
            assert!(tokio::time::Instant::now() < deadline, "it does not come to an end: {:?}", self.why().await);
            for some in self.letters().await.chunks(1000) {
                self.bus.give_back("orders", some).await.unwrap();
            }
            self.handle(&mut orders).await;
        }
        let letters = self.letters().await;
        let unique: BTreeSet<(u64, u32)> = letters.iter().map(|one| (one.offset, one.given_back)).collect();
        assert_eq!(unique.len(), letters.len(), "a letter is there twice");
        self.compare_outcomes(&letters, next, kills).await;
        let mut last: BTreeMap<u64, u64> = BTreeMap::new();
        for offset in &self.acked {
            if let Some(before) = last.insert(offset % KEYS, *offset) {
                assert!(before < *offset, "of one key {offset} was settled after {before}");
            }
        }
        let given = letters.iter().filter(|one| one.given_back > 0).count();
        eprintln!(
            "parking: {next} events, {noted} acks noted before the judge came, {} letters, {given} of them not the first",
            letters.len()
        );
        assert!(noted > 0 && given > 0, "the load proved nothing");
        self.bus.shutdown().await.unwrap();
    }

    async fn is_empty(&self, next: u64) -> bool {
        let floor = self.bus.cursor("orders", "billing").await.unwrap()[0].offset;
        let parked = self.bus.parked_keys("orders", "billing", None, 1).await.unwrap();
        floor == next && parked.keys.is_empty() && self.bus.documents("set_aside", None, 1).await.unwrap().is_empty()
    }

    async fn why(&self) -> Option<String> {
        let why = self.bus.why("orders", "billing").await.unwrap();
        why.partitions.first().map(|one| format!("{one:?}"))
    }

    async fn handle(&mut self, orders: &mut Subscription) {
        while let Ok(Some(delivery)) = tokio::time::timeout(Duration::from_millis(200), orders.next()).await {
            let offset = delivery.offset();
            delivery.ack().await.unwrap();
            self.acked.push(offset);
        }
    }

    async fn letters(&self) -> Vec<LetterRef> {
        let (mut letters, mut from) = (Vec::new(), 0);
        while let Ok(page) = self.bus.read("dlq.orders", 0, from, 1000).await {
            if page.events.is_empty() {
                break;
            }
            letters.extend(page.events.iter().map(|event| LetterRef::of(event).unwrap()));
            from = page.next;
        }
        letters
    }

    /// The last letter of each event was acked, and every other event was settled by its ack.
    async fn compare_outcomes(&self, letters: &[LetterRef], next: u64, kills: u64) {
        let mut newest: BTreeMap<u64, &LetterRef> = BTreeMap::new();
        for letter in letters {
            let known = newest.entry(letter.offset).or_insert(letter);
            if letter.given_back > known.given_back {
                *known = letter;
            }
        }
        let newest: Vec<LetterRef> = newest.into_values().cloned().collect();
        for some in newest.chunks(1000) {
            let outcomes = self.bus.letter_outcomes("orders", some).await.unwrap();
            for (letter, outcome) in some.iter().zip(outcomes) {
                assert!(matches!(outcome, LetterOutcome::Acked { .. }), "{letter:?} is {outcome:?}");
            }
        }
        let mut known: BTreeSet<u64> = newest.iter().map(|letter| letter.offset).collect();
        known.extend(&self.acked);
        // One ack may have been durable and not noted at each kill.
        let unknown: Vec<u64> = (0..next).filter(|offset| !known.contains(offset)).collect();
        assert!(unknown.len() as u64 <= kills, "settled, and neither acked nor dead: {unknown:?}");
    }
}
