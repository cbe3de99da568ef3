//! Every limit of the engine in one place, each with its reason.

use std::time::Duration;

use prom_transform::ProgramLimits;
use prom_types::Retention;

/// Requests that wait for one dispatcher. When it is full, the next ack waits: backpressure.
pub const MAILBOX: usize = 4096;
/// Requests a dispatcher takes at once: large enough that a commit carries many, small enough that
/// deadlines and new events are looked at in between.
pub const REQUESTS_AT_ONCE: usize = 1024;
/// Acks that wait for a commit. Beyond it the mailbox fills: backpressure when the disk is slow.
pub const UNANSWERED: usize = 64 * 1024;
/// Bytes of scanned events a dispatcher keeps for handing out. What does not fit is read again.
pub const RECORD_CACHE_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of one read by a dispatcher or a tail.
pub const READ_BYTES: usize = 1024 * 1024;
/// Events of one read by a tail.
pub const TAIL_READ_EVENTS: usize = 1024;
/// Dead letters written in one commit: each holds a whole event.
pub const LETTERS_AT_ONCE: usize = 64;
/// Letters that one call gives back or drops.
pub const GIVE_BACK_AT_ONCE: usize = 1000;
/// Documents of events that were given back, read at once by a dispatcher.
pub const GIVEN_PAGE: usize = 256;
/// Parked keys whose first events are looked up before a dispatcher goes on.
pub const FIRSTS_AT_ONCE: usize = 64;
/// Single documents read beside each other.
pub const DOCUMENT_READS: usize = 32;
/// How far the letters of one parked key are counted for people.
pub const PARKED_LETTERS_COUNTED: usize = 1000;
/// How long an event stays leased while its dead letter is written.
pub const LETTER_LEASE: Duration = Duration::from_secs(60);
/// Bytes of events that wait to be judged by schemas, over all topics. Beyond it publishing to such topics is refused.
pub const DEFERRED_BYTES: usize = 64 * 1024 * 1024;
/// Memory of the compiled schemas of all topics, roughly: those that were not used for longest are put away, and compiled again
/// when they are needed.
pub const COMPILED_SCHEMAS_BYTES: usize = 256 * 1024 * 1024;
/// Memory of the compiled schemas of one topic, of versions that are not deleted. A further version is refused.
pub const TOPIC_SCHEMAS_BYTES: usize = 64 * 1024 * 1024;
/// Events that are upcast at once for a subscriber: the first should not wait for the last.
pub const NORMALIZE_AT_ONCE: usize = 256;
/// Gap notices a subscriber has not looked at; older ones give way to newer ones.
pub const GAPS: usize = 256;

/// Bytes of events that wait in the queue of one subscriber: the window counts events, and a stuck
/// subscriber with a window of large ones would hold a gigabyte.
pub const QUEUE_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of events that wait for subscribers, over all queues, caches and tails of a bus. Beyond it each of them holds
/// [`LEAN_BYTES`]: a client may open a thousand subscriptions and read none.
pub const DELIVERY_BYTES: usize = 256 * 1024 * 1024;
/// What a queue, a cache or a tail holds while all together hold too much; one event of any size always fits.
pub const LEAN_BYTES: usize = 32 * 1024;
/// Topics and patterns of one subscription. Each is compared with all others of the group; a
/// subscriber that wants more of them wants a pattern.
pub const TOPICS_OF_SUBSCRIPTION: usize = 100;
/// Topics and patterns of all subscriptions of a group: its document is read and compared whole
/// for every new subscriber.
pub const TOPICS_OF_GROUP: usize = 1000;

/// How old a count of groups may be where other hubs make some too: counting reads all of them.
pub const CENSUS_AGE: Duration = Duration::from_secs(10);

/// Of a subscriber, unless it says otherwise.
pub const BATCH_SIZE: usize = 100;
/// Events that a subscriber holds at most, unless it asks for another number.
pub const MAX_IN_FLIGHT: usize = 1000;
/// How long a subscriber may hold an event, unless it asks for another time.
pub const ACK_TIMEOUT: Duration = Duration::from_secs(30);
/// More than this per subscriber is a backlog in the wrong place.
pub const LARGEST_IN_FLIGHT: usize = 1_000_000;
/// Shorter leases expire on the way to the handler.
pub const SHORTEST_ACK_TIMEOUT: Duration = Duration::from_millis(10);
/// A lease that is not renewed for this long belongs to a forgotten handler.
pub const LONGEST_ACK_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// A delivery that waited in the queue for more than this share of its time gets the whole of it
/// when it is taken; below, the little that is missing is not worth a message.
pub const FREE_WAIT_SHARE: u32 = 10;

/// Into how many a group may divide a topic: each costs a queue in the one dispatcher that serves them.
pub const VIRTUAL_PARTITIONS: u32 = 1024;
/// How long an owner may finish what it holds of a partition that moves. Then it is taken back: one
/// slow handler does not keep a partition from its next owner for longer.
pub const HANDOVER: Duration = Duration::from_secs(5);
/// A member that is silent for this long is gone, unless it asked for another time.
pub const MEMBER_TTL: Duration = Duration::from_secs(15);
/// Shorter ones would take a pause of the network for an end; longer ones would hold up partitions.
pub const SHORTEST_MEMBER_TTL: Duration = Duration::from_millis(300);
/// The longest time to live of a member.
pub const LONGEST_MEMBER_TTL: Duration = Duration::from_secs(10 * 60);
/// How much more one member may get than another.
pub const LARGEST_WEIGHT: u32 = 1000;
/// Names of members and what they say about themselves are kept in memory and shown to people.
pub const MEMBER_ID_BYTES: usize = 256;
/// Bytes of what a member says about itself.
pub const MEMBER_META_BYTES: usize = 4096;

/// A hub that is silent for this long is taken over by others, unless it is set otherwise.
pub const HUB_TTL: Duration = Duration::from_secs(10);
/// Shorter ones would take an election of the database for an end; longer ones hold up every group.
pub const SHORTEST_HUB_TTL: Duration = Duration::from_secs(1);
/// The longest time to live of a hub.
pub const LONGEST_HUB_TTL: Duration = Duration::from_secs(10 * 60);

/// Of a group, unless it or the topic says otherwise.
pub const MAX_ATTEMPTS: u32 = 5;

/// How long to wait before a failed read or commit of a dispatcher is tried again: doubling.
pub const FIRST_RETRY: Duration = Duration::from_millis(50);
/// The longest wait before a failed read or commit is tried again.
pub const LONGEST_RETRY: Duration = Duration::from_secs(5);
/// How long a dispatcher has nothing to do before it rests, and gives up what it needs for work: long enough that a group
/// that gets an event now and then does not build it anew for each.
pub const REST_AFTER: Duration = Duration::from_secs(5);
/// A task that ran this long after a failure is well again: it is no longer named, and its next wait is the first one.
pub const STEADY_AFTER: Duration = Duration::from_secs(60);
/// Failed tasks that are known by name. Where more fail at once, those that are named say what is wrong with the rest.
pub const FAILURES_NAMED: usize = 1000;
/// What a topic's key program may use for one event. It runs where publishing does, and ten thousand events can come at once. What
/// puts a few fields together takes some hundred steps. The time is that of any program: on a busy machine it says little.
pub const KEY_PROGRAM: ProgramLimits = ProgramLimits {
    time: Duration::from_millis(50),
    steps: 1000,
    memory_bytes: 64 * 1024,
    output_bytes: 64 * 1024,
    outputs: 1,
    depth: 128,
};
/// How long a filter may run before it gives its place to another. One event can take as long as [`prom_transform`] allows
/// a run, and is not interrupted by this.
pub const FILTER_TURN: Duration = Duration::from_millis(50);
/// Failures of a filter, with fewer than [`FILTER_CLEAN`] events between them, after which it is suspended: a few events
/// may be odd, a filter that fails on many is wrong.
pub const FILTER_STRIKES: u32 = 16;
/// Events without a failure after which the failures before are forgotten.
pub const FILTER_CLEAN: u32 = 100;
/// How long a filter is suspended the first time; doubling. Long enough that trying costs nothing.
pub const FIRST_SUSPENSION: Duration = Duration::from_secs(1);
/// The longest suspension: one who has mended the reason does not wait for longer.
pub const LONGEST_SUSPENSION: Duration = Duration::from_secs(60);
/// Tries of a compare-and-set before the caller hears that others are faster.
pub const CONTENTION_TRIES: usize = 64;
/// Documents read at once when listing.
pub const DOCUMENTS_AT_ONCE: usize = 1000;

/// Between two passes of retention, compaction and expiry.
pub const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(60);
/// How long a shutdown waits for handlers.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a shutdown waits for a dispatcher to make its last settlements durable.
pub const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);
/// Tombstones stay this long after their first cleaning, so that readers that lag see them.
pub const TOMBSTONE_GRACE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long dead letters are kept, unless set otherwise: each is a copy of its event, one for every group that gave up on it.
pub const LETTER_RETENTION: Retention = Retention { age_ms: Some(30 * 24 * 60 * 60 * 1000), size_bytes: None };
/// How long the audit trail is kept.
pub const AUDIT_AGE: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// How long reports of hubs about themselves are kept: one a minute is 10 000 in a week.
pub const METRICS_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How long kicking a member waits for its leases to go back. A dispatcher does that in one turn.
pub const KICK_TIMEOUT: Duration = Duration::from_secs(5);

/// What one page of a search looks at, and how long it may take: enough for a hit in recent events, little enough that many may ask.
pub const SEARCH_EVENTS: u64 = 50_000;
/// Bytes that one page of a search reads.
pub const SEARCH_BYTES: usize = 64 * 1024 * 1024;
/// How long one page of a search may take; a turn of its program may still be under way then.
pub const SEARCH_TIME: Duration = Duration::from_secs(1);
/// Bytes of events that one page of a search brings; at least one event.
pub const SEARCH_FOUND_BYTES: usize = 4 * 1024 * 1024;
/// Logs that are asked for an id at the same time.
pub const LOCATE_AT_ONCE: usize = 8;
/// How far the clock that made an id may be ahead of ours, in milliseconds: a day.
pub const LOCATE_CLOCK_DOUBT: i64 = 24 * 60 * 60 * 1000;
/// Events that are judged at once.
pub const SEARCH_AT_ONCE: usize = 256;
/// Events, and bytes, of one block that is read backwards.
pub const SEARCH_BLOCK_EVENTS: usize = 1024;
/// Bytes of one block that is read backwards; at least one event.
pub const SEARCH_BLOCK_BYTES: usize = 1024 * 1024;
/// Bytes of the blocks of all partitions together. One block is held beyond it.
pub const SEARCH_HELD_BYTES: usize = 4 * 1024 * 1024;
/// Pointers of a mask: all of them are looked for in every event that is masked.
pub const MASK_POINTERS: usize = 64;
/// Bytes of one of them.
pub const MASK_POINTER_BYTES: usize = 512;
/// Names of one of them.
pub const MASK_POINTER_NAMES: usize = 32;
/// Declared indexes of a topic: each reads every event, and keeps an entry for it.
pub const INDEXES: usize = 8;
/// Bytes of the expression of one.
pub const INDEX_BYTES: usize = 1024;
/// Bytes that compaction reads each second: a disk does many times that, so publishing hardly feels it.
pub const COMPACTION_BYTES_PER_S: u64 = 64_000_000;
/// A log is compacted again once so much is new, compared with what was left: reading all of it must be worth the while.
pub const COMPACT_WORTH_PERCENT: u64 = 25;
/// And after this time: tombstones go after their grace, also where little is new.
pub const COMPACT_AGAIN_AFTER_MS: i64 = 60 * 60 * 1000;
