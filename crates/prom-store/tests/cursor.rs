//! A cursor against a plain set of settled offsets.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use prom_store::{CursorState, Failures};
use proptest::prelude::*;

const END: u64 = 48;

/// Settled offsets one by one, failures of the rest.
#[derive(Debug, Default)]
struct Model {
    settled: BTreeSet<u64>,
    failures: BTreeMap<u64, Failures>,
}

impl Model {
    fn at(floor: u64) -> Self {
        Self { settled: (0..floor).collect(), ..Self::default() }
    }

    fn apply(&mut self, step: &Step) {
        for (offset, failure) in &step.failures {
            self.failures.insert(*offset, failure.clone());
        }
        self.settled.extend(step.settled.iter().cloned().flatten());
        self.failures.retain(|offset, _| !self.settled.contains(offset));
    }

    fn floor(&self) -> u64 {
        (0..).find(|offset| !self.settled.contains(offset)).unwrap_or(u64::MAX)
    }
}

#[derive(Debug, Clone)]
struct Step {
    settled: Vec<Range<u64>>,
    failures: Vec<(u64, Failures)>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let range = (0..END, 0..8u64).prop_map(|(start, length)| start..start + length);
    let failure = (0..END, 1..5u32, 0..3u32).prop_map(|(offset, attempts, returns)| {
        let reason = Some(format!("attempt {attempts}"));
        (offset, Failures { attempts, returns, reason })
    });
    let step = (prop::collection::vec(range, 0..4), prop::collection::vec(failure, 0..3))
        .prop_map(|(settled, failures)| Step { settled, failures });
    prop::collection::vec(step, 0..20)
}

fn check(state: &CursorState, model: &Model) -> Result<(), TestCaseError> {
    prop_assert_eq!(state.floor, model.floor());
    let above: BTreeSet<u64> = state.above.iter().flatten().collect();
    let expected: BTreeSet<u64> = model.settled.range(state.floor..).copied().collect();
    prop_assert_eq!(above, expected);
    prop_assert!(state.above.iter().all(|range| range.start > state.floor));
    for offset in 0..END + 10 {
        prop_assert_eq!(state.is_settled(offset), model.settled.contains(&offset));
    }
    prop_assert_eq!(&state.failures, &model.failures);
    Ok(())
}

proptest! {
    #[test]
    fn it_agrees_with_a_plain_set_of_settled_offsets(floor in 0..10u64, steps in steps()) {
        let (mut state, mut model) = (CursorState::at(floor), Model::at(floor));
        for step in &steps {
            state.apply(&step.settled, &step.failures);
            model.apply(step);
            check(&state, &model)?;
        }
    }

    #[test]
    fn applying_a_step_twice_is_applying_it_once(steps in steps()) {
        let mut state = CursorState::at(0);
        for step in &steps {
            state.apply(&step.settled, &step.failures);
            let once = state.clone();
            state.apply(&step.settled, &step.failures);
            prop_assert_eq!(&state, &once);
        }
    }

    #[test]
    fn the_order_of_settling_does_not_matter(
        (settled, shuffled) in Just((0..END / 3).map(|n| 3 * n..3 * n + 1 + n % 3).collect::<Vec<_>>())
            .prop_flat_map(|ranges| (Just(ranges.clone()), Just(ranges).prop_shuffle())),
    ) {
        let (mut state, mut other) = (CursorState::at(0), CursorState::at(0));
        settled.into_iter().for_each(|range| state.settle(range));
        shuffled.into_iter().for_each(|range| other.settle(range));
        prop_assert_eq!(state, other);
    }

    #[test]
    fn lag_counts_what_is_retained_and_unsettled(
        floor in 0..10u64, steps in steps(), start in 0..END, length in 0..END,
    ) {
        let (mut state, mut model) = (CursorState::at(floor), Model::at(floor));
        for step in &steps {
            state.apply(&step.settled, &step.failures);
            model.apply(step);
        }
        let next = start + length;
        let unsettled = (start..next).filter(|offset| !model.settled.contains(offset)).count();
        prop_assert_eq!(state.lag(start, next), unsettled as u64);
    }
}

#[test]
fn a_cursor_ahead_of_the_log_has_no_lag() {
    assert_eq!(CursorState::at(100).lag(0, 50), 0);
}
