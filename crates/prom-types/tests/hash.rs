//! Which partition a key goes to: the published algorithm, moving as little as it must.

use prom_types::{jump_hash, partition_of};
use proptest::prelude::*;

#[test]
fn jump_hash_gives_the_values_that_other_implementations_give() {
    for (key, buckets, expected) in [
        (1, 1, 0),
        (42, 57, 43),
        (0xDEAD_10CC, 1, 0),
        (0xDEAD_10CC, 666, 361),
        (256, 1024, 520),
        (10_863_919_174_838_991, 11, 6),
        (2_016_238_256_797_177_309, 11, 3),
        (1_673_758_223_894_951_030, 11, 5),
        (2, 100_001, 80_343),
        (2201, 100_001, 22_152),
        (2202, 100_001, 15_018),
    ] {
        assert_eq!(jump_hash(key, buckets), expected, "jump_hash({key}, {buckets})");
    }
}

#[test]
fn keys_are_hashed_by_their_utf8_bytes() {
    // xxh3_64 of nothing, with its default seed, is 2d06800538d394c2.
    assert_eq!(partition_of("", 4096), jump_hash(0x2d06_8005_38d3_94c2, 4096));
    let moved =
        (0..100).filter(|n| partition_of(&format!("ä{n}"), 4096) != partition_of(&format!("a\u{308}{n}"), 4096));
    assert!(moved.count() > 90, "composed and decomposed text are different keys");
}

#[test]
fn one_partition_takes_everything() {
    for partitions in [0, 1] {
        assert_eq!(partition_of("anything", partitions), 0);
    }
}

#[test]
fn keys_spread_evenly() {
    const KEYS: usize = 100_000;
    for partitions in [2u32, 7, 64] {
        let mut counts = vec![0usize; partitions as usize];
        for n in 0..KEYS {
            counts[partition_of(&format!("order-{n}"), partitions) as usize] += 1;
        }
        let fair = KEYS as f64 / f64::from(partitions);
        // Five standard deviations of a fair draw.
        let slack = 5.0 * fair.sqrt();
        for (partition, count) in counts.into_iter().enumerate() {
            assert!((count as f64 - fair).abs() < slack, "{count} of {KEYS} in {partition} of {partitions}");
        }
    }
}

proptest! {
    #[test]
    fn the_answer_is_a_partition_that_exists(key in ".*", partitions in 1..5000u32) {
        prop_assert!(partition_of(&key, partitions) < partitions);
    }

    #[test]
    fn one_partition_more_moves_keys_only_into_the_new_one(key in any::<u64>(), partitions in 1..5000u32) {
        let (before, after) = (jump_hash(key, partitions), jump_hash(key, partitions + 1));
        prop_assert!(after == before || after == partitions, "{before} became {after}");
    }
}
