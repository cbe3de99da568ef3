//! Limits of the HTTP API beyond those of the gateway's options, each with its reason.

use std::time::Duration;

/// Items of one batch: each may come back as a problem document, so this bounds the answer.
pub const BATCH_ITEMS: usize = prom_types::limits::BATCH_EVENTS;
/// A body that makes no progress for this long is given up.
pub const BODY_SILENCE: Duration = Duration::from_secs(30);
/// A body that is held whole has to be there by then, however often a byte of it comes.
pub const BODY_DEADLINE: Duration = Duration::from_secs(120);

/// Events of one replay, unless asked otherwise, and at most.
pub const REPLAY_EVENTS: usize = 1000;
pub const REPLAY_MOST_EVENTS: usize = 10_000;
/// Clients hold a page whole; beyond this it ends early and says where to go on.
pub const REPLAY_BYTES: usize = 8 * 1024 * 1024;
/// A replay leaves in pieces of about this size, each read when the one before has left.
pub const REPLAY_PIECE_BYTES: usize = 64 * 1024;

/// An export leaves in pieces of about this size: large enough that handing one over costs nothing.
pub const EXPORT_CHUNK_BYTES: usize = 256 * 1024;
/// Pieces that wait for a slow reader. Beyond it nothing more is read for it.
pub const EXPORT_CHUNKS_WAITING: usize = 2;
/// What one read of the store brings.
pub const EXPORT_READ_BYTES: usize = 1024 * 1024;
pub const EXPORT_READ_EVENTS: usize = 16 * 1024;

/// What an export holds: a read, the pieces that wait, the one that is written and the one on its way.
pub const EXPORT_HELD_BYTES: usize = EXPORT_READ_BYTES + (EXPORT_CHUNKS_WAITING + 2) * EXPORT_CHUNK_BYTES;

/// The longest line of an import. A whole event with every part at its limit and each character of
/// its headers escaped fits.
pub const IMPORT_LINE_BYTES: usize = 5 * 1024 * 1024;
/// Lines of an import that are published together.
pub const IMPORT_BATCH_EVENTS: usize = 1000;
pub const IMPORT_BATCH_BYTES: usize = 1024 * 1024;
/// Bad lines of an import that are described; the rest are only counted. Because of this the
/// answer always fits its queue, and a client that sends everything before it reads is no trouble.
pub const IMPORT_ERRORS: usize = 1000;
/// Lines between two reports of an import's progress.
pub const IMPORT_REPORT_EVERY: u64 = 100_000;

/// How long an import that broke off lets its client send on: long enough to read why.
pub const IMPORT_LINGER: Duration = Duration::from_secs(5);

/// Schemas of one AsyncAPI document, beyond which it has to be asked for in parts.
pub const ASYNCAPI_BYTES: usize = 8 * 1024 * 1024;

/// How long a readiness check waits for the store.
pub const READY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a list waits for another hub: one that has stopped must not hold up what the others know.
pub const LIST_TIMEOUT: Duration = Duration::from_secs(3);

/// Rates are measured over so long.
pub const RATE_WINDOW: Duration = Duration::from_secs(10);
/// Sampling stops after this long without a request for rates.
pub const RATE_INTEREST: Duration = Duration::from_secs(60);
/// Lags in one answer: each asks the store and a dispatcher, and there may be as many as topics times groups.
pub const LAGS: usize = 1000;

/// Proofs of schemas, and cutovers, that run at once. Each reads a topic whole and upcasts its events, and those who may only
/// read must not take the places of those who administer.
pub const PROOFS_AT_ONCE: usize = 2;
pub const CUTOVERS_AT_ONCE: usize = 2;
/// What one of them holds: the events of a step, as they are stored and as they are written.
pub const JOB_HELD_BYTES: usize = 12 * 1024 * 1024;
/// Lines of progress that wait for a slow reader. Beyond it the work waits.
pub const JOB_LINES_WAITING: usize = 4;
/// When to ask again where every place is taken.
pub const JOB_RETRY_AFTER: Duration = Duration::from_secs(10);
/// Memory of a parsed body for each of its bytes. `[{},{},{}]` takes this much; most bodies take less.
pub const PARSED_TIMES: usize = 32;
/// How often a job looks during a step whether its token still holds and the hub goes on.
pub const JOB_LOOKS_AFTER: Duration = Duration::from_secs(1);
