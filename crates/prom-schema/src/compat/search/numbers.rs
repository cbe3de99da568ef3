//! Numbers: bounds, multiples, and what is left out.

use std::collections::HashSet;

use num_bigint::BigInt;
use serde_json::Value;

use super::shape::NumberShape;
use super::{Search, SearchAnswer, State};
use crate::compat::node::Bound;
use crate::compat::number::Exact;
use crate::limits::MULTIPLES;

/// Divisions by short numbers in the time of one step.
const DIVISIONS_PER_STEP: u64 = 2;

impl Search<'_> {
    pub(super) fn number(&mut self, state: &State, shape: &NumberShape, except: &[Value]) -> SearchAnswer {
        let except: HashSet<Exact> = except.iter().filter_map(|value| Exact::read(value.as_number()?)).collect();
        match &shape.multiple {
            Some(unit) if !unit.is_zero() => self.multiple(state, shape, unit, &except),
            Some(_) => SearchAnswer::Maybe(None),
            None => self.real(state, shape, &except),
        }
    }

    fn multiple(&mut self, state: &State, shape: &NumberShape, unit: &Exact, except: &HashSet<Exact>) -> SearchAnswer {
        if shape.not_multiples.iter().any(|other| unit.is_multiple_of(other)) {
            return SearchAnswer::No;
        }
        let lowest = shape.lower.as_ref().map(|(limit, bound)| {
            let first = limit.ceil_in(unit);
            if *bound == Bound::Exclusive && unit.times(&first) == *limit { first + 1 } else { first }
        });
        let highest = shape.upper.as_ref().map(|(limit, bound)| {
            let last = limit.floor_in(unit);
            if *bound == Bound::Exclusive && unit.times(&last) == *limit { last - 1 } else { last }
        });
        let (start, step) = match (&lowest, &highest) {
            (Some(lowest), _) => (lowest.clone(), 1),
            (None, Some(highest)) => (highest.clone(), -1),
            (None, None) => (BigInt::from(0), 1),
        };
        // Each number is divided by all that it must not be a multiple of.
        let others = shape.not_multiples.len() as u64;
        let cost = 1 + others / DIVISIONS_PER_STEP + unit.cost() * (2 + others);
        let mut factor = start;
        let mut all_said = true;
        for _ in 0..MULTIPLES {
            let inside = lowest.as_ref().is_none_or(|lowest| factor >= *lowest)
                && highest.as_ref().is_none_or(|highest| factor <= *highest);
            if !inside {
                return if all_said { SearchAnswer::No } else { SearchAnswer::Maybe(None) };
            }
            let number = unit.times(&factor);
            if !except.contains(&number) && !shape.not_multiples.iter().any(|other| number.is_multiple_of(other)) {
                let answer = self.accept(state, number.to_value());
                if answer != SearchAnswer::Maybe(None) {
                    return answer;
                }
                all_said = false;
            }
            if !self.meter.take(cost) {
                break;
            }
            factor += step;
        }
        SearchAnswer::Maybe(None)
    }

    fn real(&mut self, state: &State, shape: &NumberShape, except: &HashSet<Exact>) -> SearchAnswer {
        if let (Some((lower, lower_bound)), Some((upper, upper_bound))) = (&shape.lower, &shape.upper) {
            let open = *lower_bound == Bound::Exclusive || *upper_bound == Bound::Exclusive;
            if lower > upper || (lower == upper && open) {
                return SearchAnswer::No;
            }
            if lower == upper {
                let fits =
                    !except.contains(lower) && !shape.not_multiples.iter().any(|unit| lower.is_multiple_of(unit));
                return if fits { self.accept(state, lower.to_value()) } else { SearchAnswer::No };
            }
        }
        // Between two different bounds lie more numbers than can be left out, so only an example is missing.
        for number in examples(shape) {
            let fits = shape.holds(&number) && !except.contains(&number);
            if fits && let SearchAnswer::Maybe(Some(found)) = self.accept(state, number.to_value()) {
                return SearchAnswer::Maybe(Some(found));
            }
        }
        SearchAnswer::Maybe(None)
    }
}

impl NumberShape {
    fn holds(&self, number: &Exact) -> bool {
        let above = self.lower.as_ref().is_none_or(|(limit, bound)| match bound {
            Bound::Inclusive => number >= limit,
            Bound::Exclusive => number > limit,
        });
        let below = self.upper.as_ref().is_none_or(|(limit, bound)| match bound {
            Bound::Inclusive => number <= limit,
            Bound::Exclusive => number < limit,
        });
        above && below && !self.not_multiples.iter().any(|unit| number.is_multiple_of(unit))
    }
}

/// Numbers between the bounds, plain ones first.
fn examples(shape: &NumberShape) -> Vec<Exact> {
    let integers = (0..20).chain([-1, 100, 1000]).map(Exact::from);
    let lower = shape.lower.as_ref().map(|(limit, _)| limit.clone());
    let upper = shape.upper.as_ref().map(|(limit, _)| limit.clone());
    let hundred = Exact::from(100);
    let (low, high) = match (lower, upper) {
        (Some(low), Some(high)) => (low, high),
        (Some(low), None) => (low.clone(), low.plus(&hundred)),
        (None, Some(high)) => (high.minus(&hundred), high),
        (None, None) => (Exact::from(0), Exact::one()),
    };
    let whole = Exact::one();
    let near = [low.clone(), high.clone(), whole.times(&low.ceil_in(&whole)), whole.times(&high.floor_in(&whole))];
    let mut numbers: Vec<Exact> = integers.chain(near).collect();
    for (numerator, denominator) in
        [(1, 2), (1, 4), (1, 8), (1, 10), (3, 10), (1, 100), (1, 1024), (37, 1000), (1, 65536), (1, 1_000_003)]
    {
        numbers.push(low.towards(&high, numerator, denominator));
        let tenth = whole.towards(&Exact::from(0), denominator - numerator, denominator);
        numbers.push(low.plus(&tenth));
        numbers.push(high.minus(&tenth));
    }
    for step in 1..30 {
        numbers.push(low.plus(&Exact::from(step)));
        numbers.push(high.minus(&Exact::from(step)));
    }
    numbers
}
