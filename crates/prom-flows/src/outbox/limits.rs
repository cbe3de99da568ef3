//! Every limit of the outbox, each with its reason.

use std::time::Duration;

/// Parts that the keys of an outbox are divided into: the most hubs that can drain it at once.
pub const BUCKETS: u8 = 32;
/// A claim grows up to this many times the configured batch while rows wait: a round trip then costs less per row.
pub const CLAIM_GROWTH: usize = 10;
/// The largest `batch`: with its growth it still fits one batch of the bus.
pub const LARGEST_BATCH: usize = 1000;
/// Bytes of payloads that one claim holds in memory, and one batch of the bus takes.
pub const CLAIM_BYTES: usize = 8 * 1024 * 1024;
/// Rows in error or waiting for another try. Beyond this a drainer cannot know which keys are held, and stops.
pub const FAILING_ROWS: usize = 10_000;
/// How long a row waits after its first failure, doubling.
pub const FIRST_ROW_RETRY: Duration = Duration::from_millis(200);
/// The longest wait between two tries of a row.
pub const LONGEST_ROW_RETRY: Duration = Duration::from_secs(30);
/// How long a drainer waits after its database or the bus failed, doubling.
pub const FIRST_RETRY: Duration = Duration::from_millis(100);
/// The longest wait: what was mended is noticed within this time.
pub const LONGEST_RETRY: Duration = Duration::from_secs(10);
/// No call to a database or to the bus waits longer. Publishing again stores nothing twice.
pub const CALL: Duration = Duration::from_secs(30);
/// How long a drainer waits for a connection: less than for an answer, so that a server that is down is soon told of.
pub const CONNECT: Duration = Duration::from_secs(8);
/// How long an end waits for the rows in hand, and once more until the buckets are given back; else their leases run out.
pub const END: Duration = Duration::from_secs(5);
/// The first wait of a poll that found nothing; it doubles up to the configured one.
pub const FIRST_POLL: Duration = Duration::from_millis(5);
/// Where a change stream wakes the drainer, it looks by itself only this often.
pub const WOKEN_POLL: Duration = Duration::from_secs(5);
/// How often failing rows are read again while there are some: another hub or an operator may have changed them.
pub const LOOK_AT_FAILING: Duration = Duration::from_secs(1);
/// A hub that has fewer buckets than its share asks for more this often.
pub const ASK_FOR_BUCKETS: Duration = Duration::from_secs(1);
/// How often all rows are looked at afresh, where claims otherwise begin behind what was done.
pub const LOOK_AFRESH: Duration = Duration::from_secs(60);
/// How often waiting rows are counted, at the most.
pub const COUNT_EVERY: Duration = Duration::from_secs(2);
/// Counting takes one part in this many of the time, as far as [`COUNT_AT_LEAST`] allows.
pub const COUNT_SHARE: u32 = 20;
/// Waiting rows are counted at least so often: a count that took long because the database was away says nothing of the next.
pub const COUNT_AT_LEAST: Duration = Duration::from_secs(60);
/// Sent rows that one statement removes: few enough that writers do not wait for it.
pub const EXPIRE_ROWS: i64 = 1000;
/// How often sent rows are removed, where the database does not do it.
pub const EXPIRE_EVERY: Duration = Duration::from_secs(5);
/// Rows that one answer shows.
pub const SHOWN_ROWS: usize = 1000;
/// Rows that one `requeue` or `drop` changes.
pub const CHANGED_ROWS: usize = 10_000;
/// Recent latencies that percentiles are made of.
pub const LATENCIES: usize = 1024;
/// Characters of an error that a row keeps.
pub const ERROR_CHARS: usize = 500;
