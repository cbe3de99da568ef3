//! Every limit of change feeds, each with its reason.

use std::time::Duration;

/// Changes, and bytes of them, that become one commit: enough that a commit costs little for each, little enough that the first of
/// them does not wait for long.
pub const BATCH_CHANGES: usize = 1000;
/// Changes of one answer of MongoDB, as a rule.
pub const ANSWER_CHANGES: u32 = 1000;
/// Bytes of changes that become one commit; at least one change.
pub const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// Events of one commit. A map may make several of one change.
pub const UNIT_EVENTS: usize = 5000;
/// Bytes of payloads of one commit, below the limit of a batch.
pub const UNIT_BYTES: usize = 12 * 1024 * 1024;
/// Events that a map may make of one change: all of them are in one commit.
pub const MAP_OUTPUTS: usize = 100;
/// Kibibytes of changes that are read ahead while others are published. One change may take up to 16 MiB.
pub const READ_AHEAD_KIB: u32 = 32 * 1024;
/// Changes that are read ahead.
pub const READ_AHEAD_CHANGES: usize = 4 * BATCH_CHANGES;
/// How long MongoDB waits for a change before it answers that there is none; the answer brings a newer position.
pub const STREAM_AWAIT: Duration = Duration::from_secs(1);
/// How long an answer of MongoDB may take beyond that. A connection that is lost without a word would stay silent.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// How often the position is stored while nothing is published: the oplog must not pass a feed that has nothing to do.
pub const SAVE_EVERY: Duration = Duration::from_secs(5);
/// How often a feed looks whether an operator moved it through another hub.
pub const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How often another hub tries to take a feed over; its lease runs for at least ten seconds.
pub const TAKE_OVER_EVERY: Duration = Duration::from_secs(2);
/// The first wait after a failure; it doubles with every further one.
pub const FIRST_RETRY: Duration = Duration::from_millis(200);
/// The longest wait after a failure: an election is over long before, and one who has mended the cause does not wait for long.
pub const LONGEST_RETRY: Duration = Duration::from_secs(60);
/// Parts of a change that are larger are left on the server once a change as a whole does not fit into one of its answers (16 MiB).
pub const CUT_BYTES: i64 = 4 * 1024 * 1024;
/// Documents of one step of a copy.
pub const COPY_DOCUMENTS: i64 = 1000;
/// Tries of an operator's write against commits of the feed that come between.
pub const ACT_TRIES: usize = 64;
/// Measured times that percentiles are made of.
pub const RECENT_TIMES: usize = 1024;
/// Characters of an error of the driver.
pub const REASON_CHARS: usize = 400;
