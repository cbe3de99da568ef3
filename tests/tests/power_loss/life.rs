//! Several lives of one store, each ended by a power loss at a random operation.

use std::sync::Arc;
use std::time::Duration;

use prom_store::{CommitError, Cursors, Logs, Outcome, Store, StoreError};
use prom_store_embedded::{EmbeddedOptions, EmbeddedStore, Sizes};
use prom_testkit::{PowerLossDisk, Random, Survival, TestClock};

use super::model::Model;
use super::plan::{CommitPlan, PlanStep, compacted_log, cursors, plain_logs};

const LIVES: u64 = 6;
const STEPS_IN_A_LIFE: u64 = 250;

/// The steps since the contents of the store were last known for certain.
#[derive(Default)]
struct Asked {
    steps: Vec<(PlanStep, SettleAnswer)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettleAnswer {
    None,
    Done,
    Refused(Outcome),
}

pub async fn run(seed: u64) {
    let mut random = Random::seeded(seed);
    let mut disk = PowerLossDisk::new().unwrap();
    let mut known = Model::default();
    let mut asked = Asked::default();
    let mut number = 0;
    for life in 0..LIVES {
        let context = format!("seed {seed}, life {life}");
        if random.one_in(3) {
            disk.cut_power_after(random.within(1..80));
            drop(open(&disk).await);
            disk = lose_power(&disk, &mut random);
        }
        let store = match open(&disk).await {
            Ok(store) => store,
            Err(error) => panic!("{context}: the store does not open: {error}"),
        };
        assert_eq!(store.damage(), [], "{context}");
        known = asked.judge(known, &Model::read(&store).await, &context);
        asked = Asked::default();

        disk.cut_power_after(disk.operations() + random.within(1..900));
        let mut expected = known.clone();
        live(&store, &disk, &mut random, &mut number, &mut expected, &mut asked, &context).await;
        drop(store);
        disk = lose_power(&disk, &mut random);
    }
}

fn lose_power(disk: &PowerLossDisk, random: &mut Random) -> PowerLossDisk {
    let survival = match random.index(5) {
        0 => Survival::Strict,
        1 => Survival::Everything,
        _ => Survival::Random(random.next_u64()),
    };
    disk.power_loss(survival).unwrap()
}

async fn open(disk: &PowerLossDisk) -> Result<Arc<EmbeddedStore>, StoreError> {
    let options = EmbeddedOptions {
        disk: Arc::new(disk.clone()),
        clock: Arc::new(TestClock::new()),
        sizes: Sizes::tiny(),
        ..EmbeddedOptions::default()
    };
    EmbeddedStore::open_with(disk.root(), options).await
}

/// Works until the power fails, or long enough.
async fn live(
    store: &Arc<EmbeddedStore>,
    disk: &PowerLossDisk,
    random: &mut Random,
    number: &mut u64,
    expected: &mut Model,
    asked: &mut Asked,
    context: &str,
) {
    for cursor in cursors() {
        let step = PlanStep::Take(cursor.clone());
        expected.apply(&step);
        let taken = store.take_cursor(&cursor, 0).await;
        asked.note(step, taken.map(|_| ()), disk, context);
    }
    let mut steps = 0;
    while steps < STEPS_IN_A_LIFE && !disk.is_off() {
        steps += 1;
        if random.one_in(12) {
            let log = random.pick(&plain_logs()).cloned().unwrap();
            let bounds = expected.logs.get(&log).map(|log| log.bounds).unwrap_or_default();
            let before = random.within(bounds.start..bounds.next + 1);
            if bounds.next == 0 {
                continue;
            }
            let step = PlanStep::Trim(log.clone(), before);
            expected.apply(&step);
            let trimmed = store.trim(&log, before).await;
            asked.note(step, trimmed.map(|_| ()), disk, context);
        } else if random.one_in(25) && expected.logs.contains_key(&compacted_log()) {
            let compacted = store.compact(&compacted_log(), Duration::ZERO).await;
            assert!(compacted.is_ok() || disk.is_off(), "{context}: {compacted:?}");
        } else {
            publish_together(store, disk, random, number, expected, asked, context).await;
        }
    }
}

/// Hands over a few commits at once and waits for their answers.
async fn publish_together(
    store: &Arc<EmbeddedStore>,
    disk: &PowerLossDisk,
    random: &mut Random,
    number: &mut u64,
    expected: &mut Model,
    asked: &mut Asked,
    context: &str,
) {
    let mut waiting = Vec::new();
    for _ in 0..random.within(1..6) {
        *number += 1;
        let plan = CommitPlan::draw(random, *number, expected);
        let pending = store.commit(plan.to_commit());
        let step = PlanStep::Commit(plan);
        waiting.push((pending, expected.apply(&step), step));
    }
    for (pending, places, step) in waiting {
        let answer = pending.await;
        if let Ok(committed) = &answer {
            let answered: Vec<_> = committed.stored.iter().map(|it| (it.offset, it.duplicate)).collect();
            assert_eq!(answered, places, "{context}: {step:?}");
        }
        asked.note(step, answer.map(|_| ()).map_err(StoreError::Commit), disk, context);
    }
}

impl Asked {
    fn note(&mut self, step: PlanStep, answer: Result<(), StoreError>, disk: &PowerLossDisk, context: &str) {
        let answer = match answer {
            Ok(()) => {
                let order = self.steps.iter().all(|(_, before)| *before == SettleAnswer::Done);
                assert!(order, "{context}: {step:?} was done although one before it failed");
                SettleAnswer::Done
            }
            Err(error) if !disk.is_off() => panic!("{context}: refused with the power on: {error}"),
            Err(StoreError::Commit(CommitError::Failed { outcome, .. })) => SettleAnswer::Refused(outcome),
            Err(StoreError::Commit(_)) => SettleAnswer::Refused(Outcome::NotStored),
            Err(_) => SettleAnswer::None,
        };
        self.steps.push((step, answer));
    }

    /// The store must hold the state after some of the steps: all answered ones, and then, in order, any number of the
    /// others. Returns what it holds.
    fn judge(self, known: Model, found: &Model, context: &str) -> Model {
        let done = self.steps.iter().filter(|(_, answer)| *answer == SettleAnswer::Done).count();
        let mut model = known;
        let mut differences = Vec::new();
        for taken in 0..=self.steps.len() {
            if let Some((step, answer)) = taken.checked_sub(1).map(|index| &self.steps[index]) {
                if *answer == SettleAnswer::Refused(Outcome::NotStored) {
                    continue;
                }
                model.apply(step);
            }
            if taken < done {
                continue;
            }
            match model.difference(found) {
                None => {
                    return Model { logs: found.logs.clone(), ..model };
                }
                Some(difference) => differences.push(format!("{taken}: {difference}")),
            }
        }
        let all = self.steps.len();
        panic!("{context}: {done} of {all} steps were answered; compared with each end:\n{}", differences.join("\n"))
    }
}
