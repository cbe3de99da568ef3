//! The dispatcher against a reference so simple that one can see it is right, over random walks; and walks in which keys park and
//! letters are given back, against a store of documents.
//!
//! `PROM_SEED=n` replays one walk; `PROM_STEPS=n` sets how many steps all walks take together.
//! A walk that fails prints its seed.

#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

mod parking;
mod reference;
mod rng;
mod walk;

use std::env;
use std::thread;

use parking::ParkingWalk;
use walk::Walk;

const STEPS_PER_WALK: u64 = 2000;
const DEFAULT_STEPS: u64 = 1_200_000;
/// Batches run beside each other.
const BATCHES: u64 = 4;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// Names the walk that was under way when a check failed.
struct SeedOnFailure(u64);

impl Drop for SeedOnFailure {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the walk of PROM_SEED={} failed", self.0);
        }
    }
}

fn walk_batch(batch: u64) {
    let walks = number("PROM_STEPS").unwrap_or(DEFAULT_STEPS).div_ceil(STEPS_PER_WALK);
    let seeds: Vec<u64> = match number("PROM_SEED") {
        Some(seed) => vec![seed],
        None => (0..walks).collect(),
    };
    let mine: Vec<u64> = seeds.into_iter().filter(|seed| seed % BATCHES == batch).collect();
    for &seed in &mine {
        let _named = SeedOnFailure(seed);
        Walk::new(seed).run(STEPS_PER_WALK);
        ParkingWalk::new(seed).run(STEPS_PER_WALK / 2);
    }
    if let (Some(first), Some(last)) = (mine.first(), mine.last()) {
        let steps = mine.len() as u64 * STEPS_PER_WALK;
        println!("batch {batch}: seeds {first}..={last} by {BATCHES}, {steps} steps (all: {walks} seeds)");
    }
}

#[test]
fn every_walk_agrees_with_the_reference_batch_0() {
    walk_batch(0);
}

#[test]
fn every_walk_agrees_with_the_reference_batch_1() {
    walk_batch(1);
}

#[test]
fn every_walk_agrees_with_the_reference_batch_2() {
    walk_batch(2);
}

#[test]
fn every_walk_agrees_with_the_reference_batch_3() {
    walk_batch(3);
}
