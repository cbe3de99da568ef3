//! Every limit of the vocabulary in one place, each with its reason.

/// A topic name fits a file name and an index key everywhere.
pub const TOPIC_BYTES: usize = 255;
/// The longest prefix the hub puts before a user's topic (`dlq.`).
pub const HUB_PREFIX_BYTES: usize = 4;
/// Group names appear in metrics labels and document ids.
pub const GROUP_BYTES: usize = 128;
/// A key is hashed and indexed; long ones are a sign of a payload in the wrong place.
pub const KEY_BYTES: usize = 1024;
/// One event's payload. Equal to the largest WebSocket frame, so whatever arrives can be stored.
pub const PAYLOAD_BYTES: usize = 1024 * 1024;
/// Deeper documents break the recursion limit of common JSON parsers on the reading side.
pub const JSON_DEPTH: usize = 120;
/// Headers are for routing and tracing, not for data.
pub const HEADERS: usize = 64;
/// Bytes of a header's name.
pub const HEADER_NAME_BYTES: usize = 128;
/// Bytes of a header's value.
pub const HEADER_VALUE_BYTES: usize = 8 * 1024;
/// Tags of an event.
pub const TAGS: usize = 64;
/// Bytes of a tag.
pub const TAG_BYTES: usize = 256;
/// Causes of one event: a fan-in wider than this wants an aggregate id.
pub const CAUSED_BY: usize = 256;
/// Bytes of a session's name.
pub const SID_BYTES: usize = 128;
/// A batch is one commit and is held in memory whole.
pub const BATCH_EVENTS: usize = 10_000;
/// Payload bytes of a batch.
pub const BATCH_BYTES: usize = 16 * 1024 * 1024;
/// Partitions of one topic: each costs a dispatcher per group.
pub const PARTITIONS: u32 = 4096;
/// How long a publisher may repeat an id and be told of the first receipt instead.
pub const DEDUPE_WINDOW_MS: i64 = 10 * 60 * 1000;
/// Milliseconds between two snapshots of a topic, at the least: each reads and writes the whole state.
pub const SNAPSHOT_EVERY_MS: u64 = 1000;
