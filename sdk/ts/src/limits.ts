/** Every limit of the client in one place, each with its reason. */

/** How long a publish keeps trying before it gives up; long enough for a restart of the hub. */
export const GIVE_UP_AFTER_MS = 60_000;
/** Unanswered publishes; beyond this callers wait. */
export const PENDING_EVENTS = 16 * 1024;
/** Text of unanswered publishes. */
export const PENDING_BYTES = 16 * 1024 * 1024;
/** Callers that wait for room; beyond this a publish that is never awaited is refused. */
export const WAITING_CALLERS = 1024 * 1024;

/** The wait before the first attempt to reconnect. */
export const BACKOFF_FIRST_MS = 100;
/** The longest wait between two attempts. */
export const BACKOFF_MAX_MS = 10_000;
/** A connection that lived this long was a good one: the next wait is the first again. */
export const STABLE_AFTER_MS = 5_000;
/** A lookup, a handshake and an AUTH that take longer will not succeed. */
export const CONNECT_TIMEOUT_MS = 10_000;
/** After this a silent hub is pinged. */
export const PING_AFTER_MS = 60_000;
/** After this a silent hub counts as gone. */
export const SILENCE_LIMIT_MS = 75_000;
/**
 * After a sleep, a change of network or a long pause the hub must answer within this time, or the connection counts as
 * dead.
 */
export const WAKE_ANSWER_MS = 5_000;
/** A timer that fires this late means that the machine or the tab slept. */
export const SLEPT_MS = 10_000;
/** How long closing waits for answers and handlers. */
export const DRAIN_TIMEOUT_MS = 10_000;
/** How long closing waits for the hub's own close. */
export const CLOSE_TIMEOUT_MS = 1_000;
/** After this many refusals in a row, a token function is not called again. */
export const TOKEN_TRIES = 3;
/** Between two attempts to get a fresh token while the old one is valid. */
export const TOKEN_RETRY_MS = 2_000;
/** The share of a token's life after which a fresh one is fetched. */
export const TOKEN_REFRESH_SHARE = 0.8;
/** JavaScript timers count in 32 bits; a later time is set again. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** How long handlers may occupy the event loop before acks, renewals and pongs get their turn. */
export const TURN_MS = 5;

/** Text joined for one write; the rest leaves with the next. */
export const WRITE_BYTES = 512 * 1024;
/** Bytes requested in one read. */
export const READ_BYTES = 128 * 1024;
/** A larger batched frame gains nothing and makes others wait. */
export const BATCH_FRAME_BYTES = 128 * 1024;
/** Events in a batched frame. */
export const BATCH_FRAME_EVENTS = 1024;
/** Items in a frame; the hub's limit. */
export const FRAME_ITEMS = 10_000;
/** The frame limit of a hub that does not announce one. */
export const FRAME_BYTES = 1024 * 1024;
/** The largest frame accepted from a hub: many events, each up to the publisher's frame limit. */
export const HUB_FRAME_BYTES = 32 * 1024 * 1024;
/** Two offsets of sixteen digits, with brackets and commas. */
export const RANGE_BYTES = 40;

/** The hub's default for a subscriber. */
export const MAX_IN_FLIGHT = 1000;
/**
 * How long an event is leased by default, and in any case while no handler has seen it. Longer than the minute after
 * which a hub gives up a silent client and returns its events: so a program that computes for long is not charged
 * attempts for events it never began.
 */
export const WAITING_LEASE_MS = 90_000;
/** Deliveries that no loop asks for go back to the group after this time. */
export const GIVE_BACK_AFTER_MS = 600_000;
/** The look-ahead is what handlers work off in this time. */
export const LOOK_AHEAD_MS = 100;
/** Handled events before the window follows their speed. */
export const RESIZE_AFTER_EVENTS = 8;
/** Time between two changes of the window: each costs a round trip. */
export const RESIZE_EVERY_MS = 1_000;
/** The same, while handlers never pause. */
export const RESIZE_SELDOM_MS = 60_000;
/** How long running handlers may delay a change of the window. */
export const RESIZE_PATIENCE_MS = 50;
/** Events of a tail that wait for the application; beyond this the hub is asked to pause. */
export const TAIL_EVENTS = 4096;
/** Text of a tail that waits for the application. */
export const TAIL_BYTES = 8 * 1024 * 1024;
/** How many times its limit a queue may grow by events in transit; more means a broken hub. */
export const OVERFULL = 16;
/** The wait before a subscription that the hub could not serve is asked for again. */
export const RESUBSCRIBE_AFTER_MS = 1_000;
/** The wait after a refusal for overload that gives no time. */
export const OVERLOAD_WAIT_MS = 250;
/** Bytes of a reason for a nack that the hub keeps. */
export const REASON_BYTES = 4096;
/** No hub leases for longer; an absurd number must not disturb the timers. */
export const LONGEST_LEASE_MS = 7 * 24 * 3600 * 1000;

/** A hub reads the logs of a tail in turn, in pieces no larger than this. */
export const TAIL_PIECE = 4096;
/** A resumed tail starts this much earlier, for events stored at the same time elsewhere. */
export const TAIL_OVERLAP_MS = 2000;

/** Between two warnings of one kind on the console. */
export const WARN_EVERY_MS = 60_000;

/** Topic names whose check is remembered. */
export const REMEMBERED_TOPICS = 1024;

// Limits of an event; the hub's own.
export const PAYLOAD_BYTES = 1024 * 1024;
export const KEY_BYTES = 1024;
export const SID_BYTES = 128;
export const HEADERS = 64;
export const TAGS = 64;
export const TAG_BYTES = 256;
export const CAUSED_BY = 256;
