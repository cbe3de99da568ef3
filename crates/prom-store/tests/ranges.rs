//! A range set holds exactly the offsets that were put in, as few ranges as they allow.

use std::collections::BTreeSet;
use std::ops::Range;

use prom_store::RangeSet;
use proptest::prelude::*;

const END: u64 = 64;

fn ranges() -> impl Strategy<Value = Vec<Range<u64>>> {
    // Also empty and backward ones, which add nothing.
    prop::collection::vec((0..END, 0..12u64, 0..2u64), 0..40)
        .prop_map(|parts| parts.into_iter().map(|(start, length, back)| start..(start + length).saturating_sub(back)))
        .prop_map(Iterator::collect)
}

fn model(ranges: &[Range<u64>]) -> BTreeSet<u64> {
    ranges.iter().cloned().flatten().collect()
}

fn contents(set: &RangeSet) -> BTreeSet<u64> {
    set.iter().flatten().collect()
}

proptest! {
    #[test]
    fn it_holds_what_was_inserted(ranges in ranges()) {
        let set: RangeSet = ranges.iter().cloned().collect();
        let model = model(&ranges);
        prop_assert_eq!(contents(&set), model.clone());
        for offset in 0..2 * END {
            prop_assert_eq!(set.contains(offset), model.contains(&offset));
        }
        prop_assert_eq!(set.is_empty(), model.is_empty());
    }

    #[test]
    fn its_ranges_are_sorted_and_never_touch(ranges in ranges()) {
        let set: RangeSet = ranges.into_iter().collect();
        let kept: Vec<_> = set.iter().collect();
        prop_assert_eq!(kept.len(), set.len());
        prop_assert!(kept.iter().all(|range| range.start < range.end));
        prop_assert!(kept.windows(2).all(|pair| pair[0].end < pair[1].start), "{:?}", kept);
    }

    #[test]
    fn the_order_of_inserting_does_not_matter(ranges in ranges()) {
        let forward: RangeSet = ranges.iter().cloned().collect();
        let backward: RangeSet = ranges.iter().rev().cloned().collect();
        prop_assert_eq!(forward, backward);
    }

    #[test]
    fn it_counts_what_lies_within(ranges in ranges(), start in 0..END, length in 0..END) {
        let set: RangeSet = ranges.iter().cloned().collect();
        let within = start..start + length;
        let counted = model(&ranges).iter().filter(|offset| within.contains(offset)).count();
        prop_assert_eq!(set.count_within(within), counted as u64);
    }

    #[test]
    fn taking_the_prefix_removes_what_is_contiguous_from_there(ranges in ranges(), from in 0..END) {
        let mut set: RangeSet = ranges.iter().cloned().collect();
        let mut model = model(&ranges);
        let mut end = from;
        while model.contains(&end) {
            end += 1;
        }
        model.retain(|offset| *offset >= end);
        prop_assert_eq!(set.take_prefix(from), end);
        prop_assert_eq!(contents(&set), model);
    }
}

#[test]
fn a_cleared_set_is_empty() {
    let mut set: RangeSet = [3..9, 20..21].into_iter().collect();
    set.clear();
    assert!(set.is_empty());
    assert!(!set.contains(3));
}

#[test]
fn the_last_offsets_are_ordinary_ones() {
    let mut set = RangeSet::default();
    set.insert(u64::MAX - 2..u64::MAX);
    assert!(set.contains(u64::MAX - 1));
    assert_eq!(set.count_within(0..u64::MAX), 2);
    assert_eq!(set.take_prefix(u64::MAX - 2), u64::MAX);
}
