/** Every limit of the client in one place, each with its reason. */

/** How long a publish keeps trying before it gives up; long enough for a hub to be restarted. */
export const GIVE_UP_AFTER_MS = 60_000;
/** Publishes that wait for their answer; more make the caller wait. */
export const PENDING_EVENTS = 16 * 1024;
/** Text of publishes that wait for their answer. */
export const PENDING_BYTES = 16 * 1024 * 1024;
/** Callers that wait for room; whoever publishes on without ever awaiting is refused beyond it. */
export const WAITING_CALLERS = 1024 * 1024;

/** The wait before the first attempt to connect again. */
export const BACKOFF_FIRST_MS = 100;
/** The longest wait between two attempts. */
export const BACKOFF_MAX_MS = 10_000;
/** A connection that lived for so long was a good one: the next wait is the first again. */
export const STABLE_AFTER_MS = 5_000;
/** A look-up, a handshake and an AUTH that take longer are not going to succeed. */
export const CONNECT_TIMEOUT_MS = 10_000;
/** A silent hub is asked whether it is there. */
export const PING_AFTER_MS = 60_000;
/** A hub from which nothing came for so long is gone. */
export const SILENCE_LIMIT_MS = 75_000;
/**
 * After a sleep, a change of network or a long pause the hub has to answer so soon, or the connection is taken for
 * dead.
 */
export const WAKE_ANSWER_MS = 5_000;
/** A timer that comes so much too late means that the machine or the tab slept. */
export const SLEPT_MS = 10_000;
/** How long closing waits for answers and handlers. */
export const DRAIN_TIMEOUT_MS = 10_000;
/** How long closing waits for the hub's own close. */
export const CLOSE_TIMEOUT_MS = 1_000;
/** Refusals in a row of tokens that a function made, after which it is not asked again. */
export const TOKEN_TRIES = 3;
/** Between two attempts to get a fresh token while the old one lives. */
export const TOKEN_RETRY_MS = 2_000;
/** The share of a token's life after which a fresh one is fetched. */
export const TOKEN_REFRESH_SHARE = 0.8;
/** Timers of JavaScript count in 32 bits; a later time is looked at again. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** How long handlers may keep the event loop before acks, renewals and pongs get their turn. */
export const TURN_MS = 5;

/** Text put together for one write; what does not fit leaves in the next. */
export const WRITE_BYTES = 512 * 1024;
/** Bytes asked for in one read. */
export const READ_BYTES = 128 * 1024;
/** A batched frame larger than this gains nothing and makes others wait. */
export const BATCH_FRAME_BYTES = 128 * 1024;
/** Events in a batched frame. */
export const BATCH_FRAME_EVENTS = 1024;
/** Items in a frame, as the hub has it. */
export const FRAME_ITEMS = 10_000;
/** What a hub takes that does not say how much it takes. */
export const FRAME_BYTES = 1024 * 1024;
/** The largest frame taken from a hub: many events, each up to a frame of the publisher. */
export const HUB_FRAME_BYTES = 32 * 1024 * 1024;
/** Two offsets of sixteen digits, with brackets and commas. */
export const RANGE_BYTES = 40;

/** As the hub has it where a subscriber does not say. */
export const MAX_IN_FLIGHT = 1000;
/** As the hub has it where a subscriber does not say. */
export const ACK_TIMEOUT_MS = 30_000;
/**
 * How long what no handler has seen is leased. Longer than the minute after which a hub takes a silent client for gone
 * and gives its events back: so a program that computes for long is not charged with attempts for what it never began.
 */
export const WAITING_LEASE_MS = 90_000;
/** Deliveries that no loop asks for go back to the group after so long. */
export const GIVE_BACK_AFTER_MS = 600_000;
/** What handlers work off in this time is asked for ahead. */
export const LOOK_AHEAD_MS = 100;
/** Handlers whose time is known before the window follows them. */
export const RESIZE_AFTER_EVENTS = 8;
/** Between two changes of the window: each costs a round trip. */
export const RESIZE_EVERY_MS = 1_000;
/** How long handlers that run may keep a change of the window waiting. */
export const RESIZE_PATIENCE_MS = 50;
/** Events of a tail that wait for the application; beyond it the hub is asked to pause. */
export const TAIL_EVENTS = 4096;
/** Text of a tail that waits for the application. */
export const TAIL_BYTES = 8 * 1024 * 1024;
/** How many times its bound a queue may grow by what was on its way; more is a broken hub. */
export const OVERFULL = 16;
/** Before a subscription that the hub could not serve is asked for again. */
export const RESUBSCRIBE_AFTER_MS = 1_000;
/** The wait after a refusal for overload that does not say how long. */
export const OVERLOAD_WAIT_MS = 250;
/** Bytes of a reason for a nack that the hub keeps. */
export const REASON_BYTES = 4096;
/** No hub lends for longer; an absurd number must not disturb the timers. */
export const LONGEST_LEASE_MS = 7 * 24 * 3600 * 1000;

/** A hub reads the logs of a tail in turn, in pieces no larger than this. */
export const TAIL_PIECE = 4096;
/** A resumed tail begins so much earlier, for what was stored at the same time elsewhere. */
export const TAIL_OVERLAP_MS = 2000;

/** Between two warnings of one kind on the console. */
export const WARN_EVERY_MS = 60_000;

/** Topic names whose check is remembered. */
export const REMEMBERED_TOPICS = 1024;

// Of an event, as the hub has them.
export const PAYLOAD_BYTES = 1024 * 1024;
export const KEY_BYTES = 1024;
export const SID_BYTES = 128;
export const HEADERS = 64;
export const TAGS = 64;
export const TAG_BYTES = 256;
export const CAUSED_BY = 256;
