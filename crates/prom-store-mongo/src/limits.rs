//! Fixed limits of the store, each with its reason. What tests or operators change is in `options`.

use std::time::Duration;

use prom_store::ReadLimit;
use prom_types::EpochMs;

/// The driver looks for a primary this long before the call is retried.
pub const SELECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// Opening says nothing about a server that is not there before this: connecting takes a moment.
pub const SILENT_START: Duration = Duration::from_secs(1);
/// The server answers an idle change stream after this time. Nothing else waits for it.
pub const STREAM_AWAIT: Duration = Duration::from_secs(10);
/// A search by id looks first this far around the time that the id carries: clocks differ.
pub const CLOCK_DOUBT_MS: EpochMs = 15 * 60_000;
/// A search that looks into every batch of a long log is slow.
pub const SEARCH_TIMEOUT: Duration = Duration::from_secs(600);
/// A deleted cursor fences its earlier holders this long.
pub const FENCED_AFTER_DELETION: Duration = Duration::from_secs(7 * 24 * 3600);

/// BSON allows a hundred levels; some are taken by the batch around the event.
pub const EVENT_DEPTH: usize = 90;
/// A batch that would be larger is written with the text of events that BSON makes more than twice as large. The server
/// takes documents up to 16 MB, and its change stream puts some fields around them.
pub const BATCH_DOCUMENT_BYTES: usize = 12 << 20;
/// Statements in one update command of a transaction; the server takes up to 100 000.
pub const COMMIT_STATEMENTS: usize = 1000;
/// Statements in one update command that fills `latest`; each carries an event.
pub const LATEST_STATEMENTS: usize = 500;
/// Bytes of events in one such command, which is one document for the server.
pub const LATEST_BYTES: usize = 8 << 20;
/// One pass of filling `latest` reads this much, so a lookup never combines it with more than that.
pub const LATEST_FILL: ReadLimit = ReadLimit { events: 2000, bytes: 4 << 20 };
/// A commit that expects something of a key looks through this many events that are not in `latest` yet. Beyond, it is
/// refused until they are.
pub const LATEST_BEHIND: u64 = 20_000;
/// Batches whose ids are read at once.
pub const ID_PAGE_BATCHES: i64 = 200;
/// Batches removed by one command.
pub const REMOVED_AT_ONCE: i64 = 500;
/// Pages of one log that one round of merging looks at. The next round continues.
pub const MERGE_PAGES: usize = 50;
/// The newest batches, which compaction leaves alone.
pub const ACTIVE_BATCHES: usize = 16;
/// Logs that a listing reads at once.
pub const LISTED_AT_ONCE: usize = 16;
/// A chain of batches that still has a gap after this many reads is damaged.
pub const CHAIN_READS: usize = 12;

/// How often a commit is judged by a view that has changed by then, before the log is read anew and with pauses.
pub const VIEWS: u32 = 8;

/// Batches before an offset that are looked at for the one that holds it. The first holds it or ends there, unless a hub is about to
/// withdraw one.
pub const HOLDER_READS: usize = 2;

/// Memory of a waiting commit, apart from its events.
pub const COMMIT_BYTES: usize = 256;
/// Memory of a cached batch, apart from its records.
pub const CACHED_BATCH_BYTES: usize = 256;
/// Cursors in memory, so that a settlement needs no read.
pub const CACHED_CURSORS: usize = 100_000;
/// Room for the failed events of one cursor. Each settlement writes it, and a document has at most 16 MB.
pub const FAILURES_BYTES: usize = 4 << 20;
/// Room for the reasons among them, which only explain.
pub const REASONS_BYTES: usize = 1 << 20;
/// An error message fits on one line of a log.
pub const REASON_CHARS: usize = 400;
