//! Several lives of one store, each ended by a power loss at a random operation.

use std::sync::Arc;
use std::time::Duration;

use prom_store::{CommitError, CompactPlan, Cursors, Logs, Outcome, Store, StoreError};
use prom_store_embedded::{EmbeddedOptions, EmbeddedStore, Sizes};
use prom_testkit::{PowerLossDisk, Random, Survival, TestClock};

use super::model::Model;
use super::plan::{CommitPlan, PlanStep, compacted_log, cursors, plain_logs};

const LIVES: u64 = 6;
const STEPS_IN_A_LIFE: u64 = 250;

/// The steps since the contents of the store were last known for certain.
#[derive(Default)]
struct Asked {
    steps: Vec<(PlanStep, StepAnswer)>,
}

/// One store, from its opening to the loss of power.
struct Life<'a> {
    store: Arc<EmbeddedStore>,
    disk: &'a PowerLossDisk,
    random: &'a mut Random,
    number: &'a mut u64,
    /// What the store holds if every step succeeds.
    expected: Model,
    asked: &'a mut Asked,
    context: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepAnswer {
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
        let expected = known.clone();
        let (disk_now, asked, number) = (&disk, &mut asked, &mut number);
        Life { store, disk: disk_now, random: &mut random, number, expected, asked, context }.live().await;
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

impl Life<'_> {
    /// Works until the power fails, or long enough.
    async fn live(mut self) {
        for cursor in cursors() {
            let step = PlanStep::Take(cursor.clone());
            self.expected.apply(&step);
            let taken = self.store.take_cursor(&cursor, 0).await;
            self.note(step, taken.map(|_| ()));
        }
        let mut steps = 0;
        while steps < STEPS_IN_A_LIFE && !self.disk.is_off() {
            steps += 1;
            if self.random.one_in(12) {
                self.trim().await;
            } else if self.random.one_in(25) && self.expected.logs.contains_key(&compacted_log()) {
                let compacted = self.store.compact(&compacted_log(), CompactPlan::everything(Duration::ZERO)).await;
                assert!(compacted.is_ok() || self.disk.is_off(), "{}: {compacted:?}", self.context);
            } else {
                self.publish_together().await;
            }
        }
    }

    async fn trim(&mut self) {
        let log = self.random.pick(&plain_logs()).cloned().unwrap();
        let bounds = self.expected.logs.get(&log).map(|log| log.bounds).unwrap_or_default();
        let before = self.random.within(bounds.start..bounds.next + 1);
        if bounds.next == 0 {
            return;
        }
        let step = PlanStep::Trim(log.clone(), before);
        self.expected.apply(&step);
        let trimmed = self.store.trim(&log, before).await;
        self.note(step, trimmed.map(|_| ()));
    }

    /// Hands over a few commits at once and waits for their answers.
    async fn publish_together(&mut self) {
        let mut waiting = Vec::new();
        for _ in 0..self.random.within(1..6) {
            *self.number += 1;
            let plan = CommitPlan::draw(self.random, *self.number, &self.expected);
            let pending = self.store.commit(plan.to_commit());
            let step = PlanStep::Commit(plan);
            waiting.push((pending, self.expected.apply(&step), step));
        }
        for (pending, places, step) in waiting {
            let answer = pending.await;
            if let Ok(committed) = &answer {
                let answered: Vec<_> = committed.stored.iter().map(|it| (it.offset, it.duplicate)).collect();
                assert_eq!(answered, places, "{}: {step:?}", self.context);
            }
            self.note(step, answer.map(|_| ()).map_err(StoreError::Commit));
        }
    }

    fn note(&mut self, step: PlanStep, answer: Result<(), StoreError>) {
        self.asked.note(step, answer, self.disk, &self.context);
    }
}

impl Asked {
    fn note(&mut self, step: PlanStep, answer: Result<(), StoreError>, disk: &PowerLossDisk, context: &str) {
        let answer = match answer {
            Ok(()) => {
                let order = self.steps.iter().all(|(_, before)| *before == StepAnswer::Done);
                assert!(order, "{context}: {step:?} was done although one before it failed");
                StepAnswer::Done
            }
            Err(error) if !disk.is_off() => panic!("{context}: refused with the power on: {error}"),
            Err(StoreError::Commit(CommitError::Failed { outcome, .. })) => StepAnswer::Refused(outcome),
            Err(StoreError::Commit(_)) => StepAnswer::Refused(Outcome::NotStored),
            Err(_) => StepAnswer::None,
        };
        self.steps.push((step, answer));
    }

    /// The store must hold the state after some of the steps: all answered ones, and then, in order, any number of the
    /// others. Returns what it holds.
    fn judge(self, known: Model, found: &Model, context: &str) -> Model {
        let done = self.steps.iter().filter(|(_, answer)| *answer == StepAnswer::Done).count();
        let mut model = known;
        let mut differences = Vec::new();
        for taken in 0..=self.steps.len() {
            if let Some((step, answer)) = taken.checked_sub(1).map(|index| &self.steps[index]) {
                if *answer == StepAnswer::Refused(Outcome::NotStored) {
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
