//! Keys, their hash and their partition among several numbers of partitions.

use prom_types::{EventId, limits, partition_of};
use serde_json::json;
use xxhash_rust::xxh3::xxh3_64;

/// One, powers of two, odd ones, the most there can be.
const PARTITION_COUNTS: [u32; 8] = [1, 2, 3, 7, 16, 100, 1021, limits::PARTITIONS];

pub fn text() -> String {
    let row = |key: String| {
        let hash = format!("{:016x}", xxh3_64(key.as_bytes()));
        let partitions = PARTITION_COUNTS.map(|partitions| partition_of(&key, partitions));
        json!([key, hash, partitions])
    };
    super::object(&[
        ("partition_counts", super::values(PARTITION_COUNTS)),
        ("keys", keys().into_iter().map(row).collect()),
    ])
}

fn keys() -> Vec<String> {
    let mut keys: Vec<String> = [
        "",
        " ",
        "a",
        "A",
        "0",
        "ä",
        "a\u{308}",
        "ß",
        "日本語",
        "Привет",
        "שלום",
        "🔥",
        "👩‍👩‍👧‍👦",
        "🇪🇺",
        "a🔥b",
        "\u{10ffff}",
        "\u{0}",
        "\u{7f}",
        "\u{feff}bom",
        "\t\n",
        "\"quoted\"",
        "back\\slash",
        "host:name:4711",
        "path/to/thing",
        "00000000-0000-0000-0000-000000000001",
    ]
    .map(str::to_owned)
    .into();
    // The hash takes another way at 4, 9, 17, 129 and 241 bytes.
    let alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
    let of_length = |length: usize| alphabet.chars().cycle().take(length).collect::<String>();
    keys.extend((2..=64).chain((65..=260).step_by(5)).map(of_length));
    keys.extend([127, 128, 129, 239, 240, 241, 256, 512, limits::KEY_BYTES].map(of_length));
    // No key is that long, but the hash goes on in blocks of 1024 bytes, and an implementation is proven with them.
    keys.extend([1025, 2048, 2500].map(of_length));
    keys.extend([30, 50, 100].map(|count| "ü🔥".repeat(count)));
    keys.extend((0..2000).map(|n| format!("order-{n}")));
    keys.extend((0..500).map(|n| EventId::derived(&n.to_string()).to_string()));
    keys
}
