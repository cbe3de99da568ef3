//! Arrays: positions that schemas name, and the uniform rest behind them.
//!
//! Positions behind the last named one are alike, so an array that fits can be shortened to the named positions, one for
//! each item that must exist, and the least length. Only such lengths are tried.

use serde_json::Value;

use super::goal::Lit;
use super::shape::ArrayShape;
use super::{Search, SearchAnswer, State};
use crate::compat::equal::same;
use crate::limits::{ITEM_KINDS, WITNESS_MEMBERS};

/// Items that must exist: this many from this position on.
#[derive(Clone)]
struct Needed {
    count: u64,
    from: usize,
    lit: Lit,
}

/// An array that is being filled, from the front.
#[derive(Clone, Default)]
struct Filled {
    items: Vec<Value>,
    needed: Vec<Needed>,
    /// How many items may still pass each `at_most`.
    quota: Vec<u64>,
}

/// What filling came to, besides an array.
#[derive(Default)]
struct Doubt {
    /// Something was not tried, or could not be said.
    some: bool,
}

impl Search<'_> {
    pub(super) fn array(&mut self, state: &State, shape: &ArrayShape, except: &[Value]) -> SearchAnswer {
        let at_least =
            shape.at_least.iter().map(|(count, node)| Needed { count: *count, from: 0, lit: Lit::holds(*node) });
        let from = shape.from.iter().map(|(from, lit)| Needed { count: 1, from: *from, lit: *lit });
        let needed: Vec<Needed> = at_least.chain(from).collect();
        let named = self.named_positions(shape) as u64;
        let wanted: u64 = needed.iter().map(|needed| needed.count).fold(0, u64::saturating_add);
        let longest = shape.min.max(named).saturating_add(wanted).saturating_add(if shape.repeats { 2 } else { 0 });
        let longest = longest.min(shape.max.unwrap_or(u64::MAX));
        if needed.len() > ITEM_KINDS || longest > WITNESS_MEMBERS {
            return self.long_array(shape);
        }
        if shape.repeats {
            return self.repeating(state, shape, longest as usize);
        }
        let mut doubt = Doubt::default();
        for length in shape.min..=longest {
            let quota = shape.at_most.iter().map(|(count, _)| *count).collect();
            let start = Filled { items: Vec::new(), needed: needed.clone(), quota };
            if let Some(items) = self.fill(shape, length as usize, start, &mut doubt) {
                let found = Value::Array(items);
                if except.iter().any(|other| same(other, &found)) {
                    doubt.some = true;
                    continue;
                }
                match self.accept(state, Some(found)) {
                    SearchAnswer::Maybe(Some(found)) => return SearchAnswer::Maybe(Some(found)),
                    _ => doubt.some = true,
                }
            }
            if self.meter.is_spent() {
                return SearchAnswer::Maybe(None);
            }
        }
        // A longer array than necessary, where the necessary one is left out.
        if doubt.some { SearchAnswer::Maybe(None) } else { SearchAnswer::No }
    }

    /// Of arrays that are too long to build, only what every item must be is checked.
    fn long_array(&mut self, shape: &ArrayShape) -> SearchAnswer {
        let named = self.named_positions(shape);
        let reached = (shape.min.min(named as u64 + 1)) as usize;
        for position in 0..reached {
            let lits = self.item_lits(shape, position);
            if self.solve_item(&[position], &lits, &[]).is_no() {
                return SearchAnswer::No;
            }
        }
        SearchAnswer::Maybe(None)
    }

    /// Positions that are not like all behind them.
    fn named_positions(&self, shape: &ArrayShape) -> usize {
        let each = shape.each.iter().map(|items| items.prefix.len());
        let at = shape.at.keys().map(|index| index + 1);
        let from = shape.from.iter().map(|(from, _)| *from);
        each.chain(at).chain(from).max().unwrap_or(0)
    }

    fn item_lits(&self, shape: &ArrayShape, position: usize) -> Vec<Lit> {
        let each = shape.each.iter().filter_map(|items| items.prefix.get(position).copied().or(items.rest));
        let mut lits: Vec<Lit> = each.map(Lit::holds).collect();
        lits.extend(shape.at.get(&position).into_iter().flatten());
        // What may occur nowhere is refused everywhere.
        lits.extend(shape.at_most.iter().filter(|(count, _)| *count == 0).map(|(_, node)| Lit::fails(*node)));
        lits
    }

    /// Fills the next position in every way, until the array is full.
    fn fill(&mut self, shape: &ArrayShape, length: usize, filled: Filled, doubt: &mut Doubt) -> Option<Vec<Value>> {
        let position = filled.items.len();
        let missing: u64 = filled.needed.iter().map(|needed| needed.count).max().unwrap_or(0);
        if position == length {
            return (missing == 0).then_some(filled.items);
        }
        if missing > (length - position) as u64 {
            return None;
        }
        if !self.meter.take(1) {
            doubt.some = true;
            return None;
        }
        let here: Vec<usize> = (0..filled.needed.len())
            .filter(|index| filled.needed[*index].count > 0 && filled.needed[*index].from <= position)
            .collect();
        let counted: Vec<usize> = (0..shape.at_most.len()).filter(|index| shape.at_most[*index].0 > 0).collect();
        if counted.len() > ITEM_KINDS {
            doubt.some = true;
            return None;
        }
        // Serving as many needs as possible first gives short arrays.
        for serve in (0..1usize << here.len()).rev() {
            for pass in 0..1usize << counted.len() {
                let mut next = filled.clone();
                let mut lits = self.item_lits(shape, position);
                for (bit, index) in here.iter().enumerate().filter(|(bit, _)| serve >> bit & 1 == 1) {
                    let _ = bit;
                    next.needed[*index].count -= 1;
                    lits.push(next.needed[*index].lit);
                }
                let mut within = true;
                for (bit, index) in counted.iter().enumerate() {
                    if pass >> bit & 1 == 0 {
                        lits.push(Lit::fails(shape.at_most[*index].1));
                    } else if next.quota[*index] == 0 {
                        within = false;
                    } else {
                        next.quota[*index] -= 1;
                    }
                }
                if within && let Some(items) = self.place(shape, length, next, &lits, doubt) {
                    return Some(items);
                }
            }
        }
        None
    }

    fn place(
        &mut self,
        shape: &ArrayShape,
        length: usize,
        mut next: Filled,
        lits: &[Lit],
        doubt: &mut Doubt,
    ) -> Option<Vec<Value>> {
        let excluded = if shape.unique { next.items.clone() } else { Vec::new() };
        let position = [next.items.len()];
        match self.solve_item(&position, lits, &excluded) {
            SearchAnswer::No => {
                // Another choice for the items before might have left a value.
                if !excluded.is_empty() && !self.is_uniform(shape) && !self.solve_item(&position, lits, &[]).is_no() {
                    doubt.some = true;
                }
                None
            }
            SearchAnswer::Maybe(None) => {
                doubt.some = true;
                None
            }
            SearchAnswer::Maybe(Some(item)) => {
                next.items.push(item);
                self.fill(shape, length, next, doubt)
            }
        }
    }

    /// All positions take the same values, so that it does not matter which come first.
    fn is_uniform(&self, shape: &ArrayShape) -> bool {
        self.named_positions(shape) == 0
            && shape.at_least.is_empty()
            && shape.at_most.iter().all(|(count, _)| *count == 0)
    }

    /// An array in which one item occurs twice.
    fn repeating(&mut self, state: &State, shape: &ArrayShape, longest: usize) -> SearchAnswer {
        let mut answer = SearchAnswer::No;
        for second in 1..longest {
            for first in 0..second {
                for zeal in [Zeal::Necessary, Zeal::Needed] {
                    match self.repeated(shape, [first, second], zeal) {
                        SearchAnswer::No => {}
                        SearchAnswer::Maybe(items) => match self.accept(state, items) {
                            SearchAnswer::Maybe(Some(found)) => return SearchAnswer::Maybe(Some(found)),
                            _ => answer = SearchAnswer::Maybe(None),
                        },
                    }
                }
            }
        }
        answer
    }

    /// An array with one item at these two positions.
    fn repeated(&mut self, shape: &ArrayShape, [first, second]: [usize; 2], zeal: Zeal) -> SearchAnswer {
        let lits = [self.item_lits(shape, first), self.item_lits(shape, second)].concat();
        let mut twice = self.solve_zealously(shape, &[first, second], &lits, zeal);
        let mut items = Vec::new();
        for position in 0..(second + 1).max(shape.min as usize) {
            if position == first || position == second {
                items.push(Value::Null);
                continue;
            }
            let lits = self.item_lits(shape, position);
            match self.solve_zealously(shape, &[position], &lits, zeal) {
                SearchAnswer::No => return SearchAnswer::No,
                SearchAnswer::Maybe(Some(item)) => items.push(item),
                SearchAnswer::Maybe(None) => twice = if twice.is_no() { twice } else { SearchAnswer::Maybe(None) },
            }
        }
        let SearchAnswer::Maybe(Some(item)) = twice else { return twice };
        items[first] = item.clone();
        items[second] = item;
        SearchAnswer::Maybe(Some(Value::Array(items)))
    }

    /// If possible an item that also serves what the array must contain.
    fn solve_zealously(&mut self, shape: &ArrayShape, positions: &[usize], lits: &[Lit], zeal: Zeal) -> SearchAnswer {
        if zeal == Zeal::Needed {
            let needed = shape.at_least.iter().map(|(_, node)| Lit::holds(*node));
            let needed: Vec<Lit> = lits.iter().copied().chain(needed).collect();
            if let found @ SearchAnswer::Maybe(Some(_)) = self.solve_item(positions, &needed, &[]) {
                return found;
            }
        }
        self.solve_item(positions, lits, &[])
    }
}

/// How much the items of an array that is tried do for what it must contain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zeal {
    Necessary,
    Needed,
}
