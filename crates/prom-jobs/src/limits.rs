//! Every limit of the jobs, each with its reason.

use std::time::Duration;

/// Events of one step at most: a step's commit then costs little per event.
pub const STEP_EVENTS: usize = 1000;
/// Events of the first step, and of one whose upcasters are slow: few enough that a stop is heeded and others get their turn.
pub const FIRST_STEP_EVENTS: usize = 50;
pub const LEAST_STEP_EVENTS: usize = 10;
/// A step that took less makes the next one larger, and one that took more makes it smaller.
pub const QUICK_STEP: Duration = Duration::from_millis(50);
pub const SLOW_STEP: Duration = Duration::from_millis(250);
/// Bytes that one step reads.
pub const STEP_BYTES: usize = 4 * 1024 * 1024;
/// Bytes that one step writes. Upcast events may be larger than they were stored, and a commit has a limit of its own.
pub const STEP_WRITTEN_BYTES: usize = 8 * 1024 * 1024;
/// Events that are upcast at once: what upcasters make of them is held until it is looked at.
pub const UPCAST_AT_ONCE: usize = 50;
/// Failures that are told one by one; the rest is counted.
pub const FAILURES_TOLD: usize = 20;
/// Bytes of the name of a collection.
pub const COLLECTION_BYTES: usize = 64;
/// Looks at a cutover whose progress another run has just stored, before the other run is told of.
pub const START_TRIES: usize = 20;
/// Events that one step of a fold takes: each may write several documents, and they are one commit.
pub const FOLD_STEP_EVENTS: usize = 500;
/// Offsets of one partition that one step of a fold forgets.
pub const FOLD_STEP_FORGETS: u64 = 4096;
/// Steps in a row that another process may win before the caller is told.
pub const FOLD_TRIES: usize = 64;
/// The shortest lease of background work: a process that pauses for less than that keeps its work.
pub const KEEPER_LEASE: Duration = Duration::from_secs(10);
/// How long background work waits after a failure, doubling.
pub const KEEPER_FIRST_RETRY: Duration = Duration::from_millis(200);
/// The longest wait: what was mended is noticed within this time.
pub const KEEPER_LONGEST_RETRY: Duration = Duration::from_secs(30);
/// How long an end waits for one piece of background work. It is dropped where it waits, so only work that holds its thread needs it.
pub const KEEPER_END: Duration = Duration::from_secs(5);
/// Declared fields of a collection: each costs an entry for every document.
pub const COLLECTION_FIELDS: usize = 8;
/// Documents of a replaced generation of a collection that are removed in one commit.
pub const COLLECTION_REMOVES: usize = 500;
/// Documents that are read at the same time where a step looks at what it replaces.
pub const DOCUMENTS_AT_ONCE: usize = 16;
/// Documents that a list passes over: beyond it lists go on by key.
pub const LIST_OFFSET: u64 = 10_000;
/// Documents of the rarest value that are compared with further filters: each costs a look-up.
pub const LIST_SCAN: u64 = 2_000;
/// Bytes of documents in a list. It ends early beyond it, and says where to go on.
pub const LIST_BYTES: usize = 4 * 1024 * 1024;
/// Times a list is read again because its collection changed meanwhile.
pub const LIST_TRIES: usize = 16;
/// Documents of the first read of a list, which may be large ones, and of the largest.
pub const FIRST_DOCUMENTS: usize = 8;
pub const MOST_DOCUMENTS: usize = 1000;
/// Bytes that one read of a list should bring.
pub const DOCUMENTS_BYTES: usize = 1024 * 1024;
/// How often the index of causes is brought up to date without being asked: a question then has little to wait for.
pub const TRACE_EVERY: Duration = Duration::from_secs(5);
/// How long it reads before a question gets its turn.
pub const TRACE_TURN: Duration = Duration::from_millis(500);
/// How long a question waits for the index. What is not indexed by then, the answer says.
pub const TRACE_CATCH_UP: Duration = Duration::from_secs(2);
/// How long a question may look for ids whose topic is not known.
pub const TRACE_LOCATE: Duration = Duration::from_secs(2);
/// Events of a tree: more are no picture any more.
pub const TRACE_NODES: usize = 500;
/// Levels of JSON between a tree's root and its lowest node. Common readers of JSON refuse text with more than 128 levels, and a
/// node has some of its own.
pub const TRACE_NESTING: usize = 110;
/// Groups of all events of a tree together, each of which is looked up.
pub const TRACE_DELIVERIES: usize = 2000;
/// Effects of one event that are followed, and entries that one commit of the index writes.
pub const TRACE_EFFECTS: usize = 1000;
/// Events, and bytes, of one read of the index.
pub const TRACE_READ_EVENTS: usize = 8192;
pub const TRACE_READ_BYTES: usize = 4 * 1024 * 1024;
/// Events of a topic after which the index stores how far it is although it found nothing.
pub const TRACE_MARK_EVERY: u64 = 50_000;
/// How long an event may be under way from its admission to the log, before it is taken for refused.
pub const TRACE_SETTLES: Duration = Duration::from_secs(300);
/// Documents that the index reads at once.
pub const TRACE_BLOCKS_AT_ONCE: usize = 500;
/// How often declared indexes are brought up to date without being asked.
pub const INDEX_EVERY: Duration = Duration::from_secs(5);
/// Events that an index may be behind for a search to wait for it.
pub const INDEX_CATCH_UP: u64 = 5_000;
/// Entries that one look at an index reads.
pub const INDEX_AT_ONCE: usize = 200;
/// Entries that one page of a search follows: each reads an event.
pub const INDEX_CANDIDATES: u64 = 2_000;
/// Entries that are deleted in one commit.
pub const INDEX_DELETES: usize = 500;
/// Expressions that are kept compiled.
pub const INDEX_PROGRAMS: usize = 256;
/// Bytes of an error that its pattern is made of. What an error is about is said at its beginning.
pub const ERROR_READ_BYTES: usize = 1000;
/// Bytes of the pattern of an error: it is read in a table, and kept for each kind of error.
pub const PATTERN_BYTES: usize = 240;
/// Kinds of errors of one topic that are counted apart; letters with others are counted together. All of them are in memory, and
/// people do not read more.
pub const ERRORS_TOLD_APART: usize = 1000;
/// Groups that are counted apart within one kind of error.
pub const GROUPS_TOLD_APART: usize = 50;
/// Blocks of letters that a book keeps in memory: the last ones are written again and again.
pub const BLOCKS_KEPT: usize = 8;
/// Books of letters that a hub keeps in memory. One that is needed again is read again.
pub const BOOKS_KEPT: usize = 200;
/// How often all books are brought up to date in the background. Who asks brings one up to date anyway.
pub const BOOKS_KEPT_EVERY: Duration = Duration::from_secs(60);
/// Bytes of letters on one page: beyond it the page ends early and says where to go on.
pub const LETTERS_PAGE_BYTES: usize = 8 * 1024 * 1024;
/// Letters that one page looks at in the index, and those it reads to look at their error or key: beyond it the page ends early.
pub const LETTERS_LOOKED_AT: usize = 100_000;
pub const LETTERS_READ: usize = 5000;
/// Letters that are read together. Each may be larger than a megabyte.
pub const LETTERS_AT_ONCE: usize = 32;
/// Blocks of letters that one step of a job looks at when nothing in them matches. Then it lets others have the desk.
pub const LETTER_BLOCKS_AT_ONCE: usize = 64;
/// Letters that one step of a job takes.
pub const LETTERS_OF_STEP: usize = 256;
/// Letters that a dry run shows whole; it counts all of them.
pub const LETTERS_SHOWN: usize = 20;
/// Letters that are tried out before anything of an order is sent, and up to which an order is answered when it is done.
pub const LETTERS_TRIED: u64 = 1000;
/// Jobs over letters that take a step at once in a hub. Each step is held in memory; more jobs wait for their turn.
pub const LETTER_JOBS_AT_ONCE: usize = 4;
/// Jobs over letters that work or wait for outcomes, in all: each is a task, and nobody fills the hub with them.
pub const LETTER_JOBS_ACTIVE: usize = 1000;
/// Blocks whose outcomes one turn of a job counts.
pub const OUTCOME_BLOCKS_AT_ONCE: usize = 16;
/// How long a job waits before it looks at outcomes again, doubling while nothing has changed.
pub const OUTCOME_FIRST_WAIT: Duration = Duration::from_millis(100);
/// The longest of these waits: what was acked is told within this time.
pub const OUTCOME_LONGEST_WAIT: Duration = Duration::from_secs(10);
/// How long one who looks at a job waits until its outcomes were counted once more.
pub const OUTCOME_TURN_WAIT: Duration = Duration::from_secs(1);
/// How long after its last hand-over a job looks for outcomes. An event that waits for longer waits for somebody to look.
pub const OUTCOMES_COUNTED_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// The lease of a job. Another hub goes on with it this long after one was killed.
pub const LETTER_JOB_LEASE: Duration = Duration::from_secs(10);
/// How often a hub looks for jobs that nobody works on.
pub const LETTER_JOBS_LOOK: Duration = Duration::from_secs(5);
/// Outcomes that are known before a share of failures stops a job that has no canary: fewer say little.
pub const FAILURES_JUDGED_FROM: u64 = 20;
/// Events that a program makes of one in a bulk replay: more would not fit into a step with others.
pub const REPLAY_OUTPUTS: usize = 100;
/// Keys, and bytes of events, that a scan for a snapshot remembers at once; another scan reads on where they ended.
pub const SNAPSHOT_ROOM_KEYS: usize = 500_000;
pub const SNAPSHOT_ROOM_BYTES: usize = 48 * 1024 * 1024;
/// Events, and bytes of them, in one commit of a snapshot.
pub const SNAPSHOT_STEP_EVENTS: usize = 1000;
pub const SNAPSHOT_STEP_BYTES: usize = 4 * 1024 * 1024;
/// How long a snapshot belongs to a process that says nothing of it.
pub const SNAPSHOT_LEASE: Duration = Duration::from_secs(60);
/// Bytes of events that one page of a topic's past holds.
pub const TRAVEL_ROOM_BYTES: usize = 8 * 1024 * 1024;
/// How often an answer about the past is made again because events were removed meanwhile.
pub const TRAVEL_TRIES: usize = 5;
/// When a job looks again at a snapshot that another process makes.
pub const SNAPSHOT_ELSEWHERE_AFTER: Duration = Duration::from_millis(200);
/// How often the keeper looks whether a snapshot is due.
pub const SNAPSHOT_LOOK: Duration = Duration::from_secs(1);
/// How long snapshots stay, but for the newest, unless their topic says otherwise.
pub const SNAPSHOT_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);
