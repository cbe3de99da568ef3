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

/// Events of one page of a search, unless asked otherwise, and at most.
pub const SEARCH_ITEMS: usize = 50;
pub const SEARCH_MOST_ITEMS: usize = 1000;
/// What a search holds while it reads: blocks of all partitions, what is judged, what was found.
pub const SEARCH_READ_BYTES: usize = 12 * 1024 * 1024;
/// Searches that run at once, in all and of one subject; more wait. Their programs share threads with the filters of groups.
pub const SEARCHES_AT_ONCE: usize = 4;
pub const SEARCHES_OF_A_SUBJECT: usize = 2;
/// What its answer takes beside the events.
pub const SEARCH_ANSWER_BYTES: usize = 256 * 1024;

/// Traces that are drawn at once: each may ask many logs for an id.
pub const TRACES_AT_ONCE: usize = 4;

/// Documents of a list, unless asked otherwise, and at most.
pub const LIST_ITEMS: usize = 100;
pub const LIST_MOST_ITEMS: usize = 1000;
/// What a list holds while it reads.
pub const LIST_READ_BYTES: usize = 8 * 1024 * 1024;

/// Answers up to here are not counted: ten thousand of them are less than what one export reads.
pub const ANSWER_UNCOUNTED_BYTES: usize = 16 * 1024;

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
/// Only offsets below this are kept by an import: JavaScript reads larger ones inexactly, and behind the last offset there
/// would be no room.
pub const OFFSETS: u64 = 1 << 53;
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
/// Lags that are looked at together: each waits for the store and a dispatcher, and one alone keeps neither busy.
pub const LAGS_AT_ONCE: usize = 32;

/// Proofs of schemas, and cutovers, that run at once. Each reads a topic whole and upcasts its events, and those who may only
/// read must not take the places of those who administer.
pub const PROOFS_AT_ONCE: usize = 2;
pub const CUTOVERS_AT_ONCE: usize = 2;
/// Bulk replays that run at once, for the same reason.
pub const REPLAYS_AT_ONCE: usize = 2;
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
/// How often a live replay sends a comment when nothing is published: proxies end connections that are silent for a minute, and
/// a client that is gone is noticed.
pub const LIVE_COMMENT_EVERY: Duration = Duration::from_secs(15);
/// What a live replay holds of the budget: for each event beside its text, and at the most; and how long it waits where nothing
/// is left.
pub const LIVE_EVENT_BYTES: usize = 512;
pub const LIVE_HELD_BYTES: usize = 1024 * 1024;
pub const LIVE_WAIT: Duration = Duration::from_millis(100);

/// Subscriptions that the list of connections names for each.
pub const CONNECTION_SUBSCRIPTIONS: usize = 100;
/// Entries of one page of a list: more than a person reads, and less than a megabyte.
pub const LIST_MOST_ENTRIES: usize = 1000;
/// Dead letters of one page, unless asked otherwise, and at most.
pub const LETTERS: usize = 100;
pub const LETTERS_MOST: usize = 1000;
/// Letters that an index may find before all of them are looked at instead.
pub const LETTERS_INDEXED: usize = 10_000;
/// Events that an index may find for an export before everything is read instead: 16 bytes each.
pub const EXPORT_INDEXED: usize = 100_000;
/// What a page of letters holds: what it read, and its text. A page ends early where its letters are large.
pub const LETTERS_HELD_BYTES: usize = 24 * 1024 * 1024;
/// Topics in one answer about letters, and kinds of errors that come with a sample: each is read.
pub const LETTER_TOPICS: usize = 200;
pub const LETTER_SAMPLES: usize = 50;
/// Letters that one request names, and up to which a replay is answered when it is done.
pub const LETTER_IDS: usize = 1000;
pub const LETTERS_ANSWERED: u64 = 1000;
/// How long such an answer waits for the end: shorter than clients wait. Then it names the job.
pub const LETTER_JOB_WAIT: Duration = Duration::from_secs(20);
/// Snapshots that are asked for and made at once: each holds a piece of the state.
pub const SNAPSHOTS_AT_ONCE: usize = 2;
/// When a request looks again at a snapshot that another process makes.
pub const SNAPSHOT_ELSEWHERE_AFTER: Duration = Duration::from_millis(200);
/// Questions about the past at once: each may read a topic as far back as its last snapshot.
pub const TRAVELS_AT_ONCE: usize = 4;
/// Keys of the past on a page, unless asked for otherwise, and at the most.
pub const TRAVEL_KEYS: usize = 100;
pub const TRAVEL_MOST_KEYS: usize = 1000;

/// Rows of an outbox in an answer, unless asked otherwise, and at most; and the ids that a request names.
pub const FLOW_ROWS: usize = 100;
pub const FLOW_ROWS_MOST: usize = 1000;
/// Ids that one entry of the audit trail names; it counts all of them.
pub const FLOW_ROWS_AUDITED: usize = 100;
/// What such an answer holds: names, and errors that quote what they are about.
pub const FLOW_ROWS_HELD_BYTES: usize = 8 * 1024 * 1024;
/// Rows that one request requeues or drops, unless asked otherwise, and at most: more are done by asking again, so that no
/// request holds a database for long.
pub const FLOW_ROWS_CHANGED: usize = 1000;
pub const FLOW_ROWS_CHANGED_MOST: usize = 10_000;
/// Changes of flows that are under way at once: each may wait for a database that does not answer.
pub const FLOW_CHANGES_AT_ONCE: usize = 8;
/// How long an answer waits for the database of a flow: shorter than clients wait.
pub const FLOW_ANSWER_TIMEOUT: Duration = Duration::from_secs(20);
