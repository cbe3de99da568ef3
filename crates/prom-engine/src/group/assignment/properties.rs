//! What the assignment promises, over thousands of random histories. A failure names its seed.

use std::collections::BTreeMap;

use super::*;

const HISTORIES: u64 = 3000;

/// A seeded generator (splitmix64).
struct Rng(u64);

impl Rng {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        (mix(self.0) >> 16) as usize % below
    }
}

fn equal(ids: &[String]) -> Vec<Candidate<'_>> {
    ids.iter().map(|id| Candidate { id, weight: 1, pins: &[] }).collect()
}

fn owned(owners: &[Option<String>]) -> Vec<Option<&str>> {
    owners.iter().map(|owner| owner.as_deref()).collect()
}

fn assigned(ids: &[String], before: &[Option<String>]) -> Vec<Option<String>> {
    assign(&equal(ids), &owned(before)).into_iter().map(|owner| owner.map(str::to_owned)).collect()
}

fn sizes(ids: &[String], owners: &[Option<String>]) -> Vec<usize> {
    ids.iter().map(|id| owners.iter().filter(|owner| owner.as_ref() == Some(id)).count()).collect()
}

fn moved(before: &[Option<String>], after: &[Option<String>]) -> usize {
    before.iter().zip(after).filter(|(before, after)| before != after).count()
}

#[test]
fn sizes_differ_by_at_most_one_and_one_join_or_leave_moves_no_more_than_it_must() {
    for seed in 0..HISTORIES {
        let mut rng = Rng(seed);
        let partitions = 1 + rng.below(130);
        let mut ids: Vec<String> = Vec::new();
        let mut owners: Vec<Option<String>> = vec![None; partitions];
        let mut named = 0;
        for step in 0..30 {
            let before_members = ids.len();
            if ids.is_empty() || (ids.len() < 40 && rng.below(5) < 3) {
                ids.push(format!("member-{named}"));
                named += 1;
            } else {
                ids.swap_remove(rng.below(ids.len()));
            }
            let after = assigned(&ids, &owners);
            let sizes = sizes(&ids, &after);
            if let (Some(least), Some(most)) = (sizes.iter().min(), sizes.iter().max()) {
                assert!(most - least <= 1, "seed {seed}, step {step}: {sizes:?}");
                assert_eq!(sizes.iter().sum::<usize>(), partitions, "seed {seed}: each has an owner");
            } else {
                assert!(after.iter().all(Option::is_none), "seed {seed}");
            }
            if before_members > 0 && !ids.is_empty() {
                let most = partitions.div_ceil(before_members.max(ids.len()));
                let moves = moved(&owners, &after);
                assert!(moves <= most, "seed {seed}, step {step}: {moves} moved, {most} had to");
            }
            owners = after;
        }
    }
}

#[test]
fn the_order_of_the_members_changes_nothing_and_the_same_members_move_nothing() {
    for seed in 0..HISTORIES {
        let mut rng = Rng(seed ^ 0x5EED);
        let members = 1 + rng.below(20);
        let mut ids: Vec<String> = (0..members).map(|number| format!("m{number}")).collect();
        let previous: Vec<Option<String>> = (0..1 + rng.below(64))
            .map(|_| (rng.below(3) > 0).then(|| format!("m{}", rng.below(2 * members))))
            .collect();
        let first = assigned(&ids, &previous);
        for at in (1..ids.len()).rev() {
            ids.swap(at, rng.below(at + 1));
        }
        assert_eq!(assigned(&ids, &previous), first, "seed {seed}");
        assert_eq!(assigned(&ids, &first), first, "seed {seed}: nothing has to move");
    }
}

#[test]
fn any_change_moves_what_lost_its_owner_or_is_above_a_quota_and_nothing_else() {
    for seed in 0..HISTORIES {
        let mut rng = Rng(seed ^ 0xFEED);
        let ids: Vec<String> = (0..1 + rng.below(12)).map(|number| format!("m{number}")).collect();
        let previous: Vec<Option<String>> =
            (0..1 + rng.below(64)).map(|_| Some(format!("m{}", rng.below(16)))).collect();
        let after = assigned(&ids, &previous);
        let had: BTreeMap<&String, usize> = ids.iter().zip(sizes(&ids, &previous)).collect();
        let gone = previous.iter().flatten().filter(|owner| !had.contains_key(owner)).count();
        let above: usize = ids.iter().zip(sizes(&ids, &after)).map(|(id, size)| had[id].saturating_sub(size)).sum();
        assert_eq!(moved(&previous, &after), gone + above, "seed {seed}");
    }
}

#[test]
fn shares_follow_the_weights_by_largest_remainder() {
    for seed in 0..HISTORIES {
        let mut rng = Rng(seed ^ 0xBEEF);
        let weights: Vec<u32> = (0..1 + rng.below(10)).map(|_| 1 + rng.below(9) as u32).collect();
        let ids: Vec<String> = (0..weights.len()).map(|number| format!("m{number}")).collect();
        let candidates: Vec<Candidate<'_>> =
            ids.iter().zip(&weights).map(|(id, &weight)| Candidate { id, weight, pins: &[] }).collect();
        let partitions = 1 + rng.below(100);
        let owners = assign(&candidates, &vec![None; partitions]);
        let total: u32 = weights.iter().sum();
        for (id, weight) in ids.iter().zip(&weights) {
            let size = owners.iter().filter(|owner| **owner == Some(id)).count() as f64;
            let ideal = partitions as f64 * f64::from(*weight) / f64::from(total);
            assert!((size - ideal).abs() < 1.0, "seed {seed}: {id} has {size}, its share is {ideal}");
        }
    }
}

#[test]
fn pinned_partitions_go_to_those_who_pin_them_and_the_rest_is_balanced_around_them() {
    let pins: Vec<u32> = (0..6).collect();
    let candidates = [
        Candidate { id: "a", weight: 1, pins: &pins },
        Candidate { id: "b", weight: 1, pins: &[] },
        Candidate { id: "c", weight: 1, pins: &[9] },
    ];
    let owners = assign(&candidates, &[Some("b"); 12]);
    assert!(owners[..6].iter().all(|owner| *owner == Some("a")), "{owners:?}");
    assert_eq!(owners[9], Some("c"));
    let count = |id: &str| owners.iter().filter(|owner| **owner == Some(id)).count();
    assert_eq!((count("a"), count("b"), count("c")), (6, 3, 3));
}

#[test]
fn a_weight_of_nothing_takes_only_what_is_pinned_unless_no_other_takes_the_rest() {
    let only_pins = Candidate { id: "static", weight: 0, pins: &[2, 99] };
    let other = Candidate { id: "other", weight: 1, pins: &[] };
    let owners = assign(&[only_pins, other], &[None; 4]);
    assert_eq!(owners, [Some("other"), Some("other"), Some("static"), Some("other")]);
    assert_eq!(assign(&[only_pins], &[None; 4]), [Some("static"); 4], "nothing stays without an owner");
}
