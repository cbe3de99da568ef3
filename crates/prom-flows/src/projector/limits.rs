//! Limits of projectors, each with its reason.

use std::time::Duration;

/// Events of a batch: one bulk write, and one commit of the hub.
pub const BATCH_EVENTS: usize = 500;
/// Bytes of events of a batch. All of them may become dead letters, and those have to fit into one commit.
pub const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// Documents that are read at the same time where a batch looks at what it replaces.
pub const DOCUMENTS_AT_ONCE: usize = 16;
/// Versions of deleted keys that are removed in one commit.
pub const REMOVED_AT_ONCE: usize = 500;
/// How often a projector with nothing to do looks whether an operator moved its cursor or asked for a rebuild at another hub.
pub const LOOK: Duration = Duration::from_secs(5);
/// How often another hub tries for the lease of a projector.
pub const TAKE_OVER: Duration = Duration::from_secs(2);
/// How long a projector waits after a failure, doubling.
pub const FIRST_WAIT: Duration = Duration::from_millis(200);
/// The longest of these waits: a database that is back is noticed within this time.
pub const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// The longest of them where another transaction is in the way, which ends by itself.
pub const CONTENDED_WAIT: Duration = Duration::from_secs(1);
/// Times that are remembered of each stage.
pub const STAGE_TIMES: usize = 1024;
/// Characters of an error that are shown and stored.
pub const REASON_CHARS: usize = 1000;
/// How long the version of a deleted key is remembered in MongoDB. An older event of it comes later than that only by hand.
pub const DELETED_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Things that report themselves and are heard at the moment: each is in memory.
pub const HEARD_MOST: usize = 1_000_000;
/// Documents of them that are read at once, and things that fall silent in one commit.
pub const HEARD_AT_ONCE: usize = 500;
