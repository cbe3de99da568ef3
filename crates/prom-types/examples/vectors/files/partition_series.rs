//! Ten thousand keys of every length the hash treats in its own way, by rule, and their partitions.

use prom_types::{limits, partition_of};
use serde_json::{Value, json};

const KEYS: usize = 10_000;
const LONGEST_TAIL: usize = 250;
const PARTITION_COUNTS: [u32; 5] = [2, 7, 64, 100, limits::PARTITIONS];

pub fn text() -> String {
    let row = |n: usize| -> Value {
        let key = format!("key-{n}-{}", "x".repeat(n % LONGEST_TAIL));
        json!(PARTITION_COUNTS.map(|partitions| partition_of(&key, partitions)))
    };
    super::object(&[
        ("partition_counts", super::values(PARTITION_COUNTS)),
        ("partitions", (0..KEYS).map(row).collect()),
    ])
}
