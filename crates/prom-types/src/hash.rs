//! Which partition a key belongs to: jump consistent hash (Lamping & Veach) over xxh3.
//!
//! The vectors in `protocol/vectors/partition.json` bind every client to the same answer.

use xxhash_rust::xxh3::xxh3_64;

/// The partition of a key among `partitions`.
pub fn partition_of(key: &str, partitions: u32) -> u32 {
    match partitions {
        0 | 1 => 0,
        more => jump_hash(xxh3_64(key.as_bytes()), more),
    }
}

/// The hash of a key by which its events are kept in order, and parked. It is stored: it never changes.
pub fn key_hash(key: &str) -> u64 {
    xxh3_64(key.as_bytes())
}

/// Jump consistent hash: growing from n to n+1 buckets moves one key in n+1, all to the new bucket.
pub fn jump_hash(mut key: u64, buckets: u32) -> u32 {
    let (mut bucket, mut next) = (0i64, 0i64);
    while next < i64::from(buckets) {
        bucket = next;
        key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        let spread = (1i64 << 31) as f64 / ((key >> 33) + 1) as f64;
        next = ((bucket + 1) as f64 * spread) as i64;
    }
    bucket as u32
}
