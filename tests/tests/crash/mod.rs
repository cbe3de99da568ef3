//! A process killed at random points under load: what it was promised is there, once, in order.

mod child;
mod cutover;
mod parking;
mod projector;
mod replay;

use std::path::Path;

use prom_testkit::Random;
use prom_testkit::history::{CrashSummary, StoreContents, Violation, check};
use prom_tests::small_files;
use promethean::{EmbeddedOptions, EmbeddedStore, Store};
use tempfile::TempDir;

use crate::rounds::rounds;
use child::CrashChild;

/// After this many kills a new directory is started, so that judging stays quick.
const KILLS_PER_DIRECTORY: u64 = 10;

/// More with `PROM_CRASH_ROUNDS` (200 and more is the long form); other kill points with `PROM_CRASH_SEED`.
#[test]
fn every_promise_survives_a_kill_at_any_moment() {
    let (kills, seed) = (rounds("PROM_CRASH_ROUNDS", 12), rounds("PROM_CRASH_SEED", 1));
    eprintln!("crash: {kills} kills, seed {seed}");
    let mut random = Random::seeded(seed);
    let mut done = 0;
    while done < kills {
        let mut home = TempDir::new().unwrap();
        let mut judged = CrashSummary::default();
        for life in 0..KILLS_PER_DIRECTORY.min(kills - done) {
            let mut child = CrashChild::start(home.path(), random.next_u64());
            // Some die while they are still opening the directory.
            if life > 0 && random.one_in(5) {
                child.live_for_ms(random.within(0..60));
            } else {
                child.wait_for_more_facts(random.within(50..3_000));
                child.live_for_ms(random.within(0..300));
            }
            child.kill();
            done += 1;
            // Sometimes the next child recovers the directory.
            if !random.one_in(4) {
                judged = judge(home.path()).unwrap_or_else(|broken| fail(&mut home, done, &broken));
            }
        }
        let last = judge(home.path()).unwrap_or_else(|broken| fail(&mut home, done, &broken));
        assert!(last.stored >= judged.stored, "promises were lost: {judged:?}, then {last:?}");
        judged = last;
        eprintln!("crash: after {done} kills: {judged:?}");
        assert!(judged.stored > 0 && judged.acked > 0 && judged.failed > 0, "the load proved nothing");
    }
}

/// Opens what the child left and compares it with what the child wrote down.
fn judge(home: &Path) -> Result<CrashSummary, Vec<Violation>> {
    let history = child::history(home);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(async {
        let options = EmbeddedOptions { sizes: small_files(), ..EmbeddedOptions::default() };
        let store = EmbeddedStore::open_with(child::data(home), options).await.unwrap();
        assert_eq!(store.damage(), [], "a kill damages nothing");
        let found = StoreContents::read(&*store).await.unwrap();
        store.close().await.unwrap();
        check(&history, &found)
    })
}

/// Leaves the directory in place for debugging.
fn fail(home: &mut TempDir, kills: u64, broken: &[Violation]) -> ! {
    home.disable_cleanup(true);
    let first: Vec<_> = broken.iter().take(20).map(ToString::to_string).collect();
    panic!(
        "after {kills} kills {} promises are broken in {}:\n{}",
        broken.len(),
        home.path().display(),
        first.join("\n")
    )
}
