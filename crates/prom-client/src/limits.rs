//! Every limit of the client in one place, each with its reason.

use std::time::Duration;

/// How long a publish keeps trying before it gives up; long enough for a hub to be restarted.
pub const GIVE_UP_AFTER: Duration = Duration::from_secs(60);
/// Publishes that had to wait for room travel together, and are given up together, if their times differ by no more.
pub const DEADLINE_SLACK: Duration = Duration::from_millis(200);
/// Publishes that wait for their answer; more make the caller wait.
pub const PENDING_EVENTS: usize = 16 * 1024;
/// Bytes of publishes that wait for their answer.
pub const PENDING_BYTES: usize = 16 * 1024 * 1024;

/// The wait before the first attempt to connect again.
pub const BACKOFF_FIRST: Duration = Duration::from_millis(100);
/// The longest wait between two attempts.
pub const BACKOFF_LONGEST: Duration = Duration::from_secs(10);
/// A connection that lived this long was a good one: the next wait is the first again.
pub const STABLE_AFTER: Duration = Duration::from_secs(5);
/// A name look-up, a handshake and an AUTH that take longer are not going to succeed.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A silent hub is asked whether it is there.
pub const PING_AFTER: Duration = Duration::from_secs(60);
/// A hub that was silent for this long is gone.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(75);
/// How long closing waits for answers and handlers.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long closing waits for the hub's own close.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Refusals in a row of tokens that a provider made, after which the provider is not asked again.
pub const TOKEN_TRIES: u32 = 3;
/// Between two attempts to get a fresh token while the old one lives.
pub const TOKEN_RETRY: Duration = Duration::from_secs(2);
/// The share of a token's life after which a fresh one is fetched, in percent.
pub const TOKEN_REFRESH_PERCENT: u32 = 80;

/// Bytes put together for one write; what does not fit leaves in the next.
pub const WRITE_BYTES: usize = 256 * 1024;
/// Bytes asked for in one read.
pub const READ_BYTES: usize = 64 * 1024;
/// A batched frame larger than this gains nothing and makes others wait.
pub const BATCH_FRAME_BYTES: usize = 128 * 1024;
/// Events in a batched frame.
pub const BATCH_FRAME_EVENTS: usize = 1024;
/// What a hub takes that does not say how much it takes.
pub const FRAME_BYTES: usize = 1024 * 1024;
/// The largest frame taken from a hub: many events, each up to a frame of the publisher.
pub const HUB_FRAME_BYTES: usize = 32 * 1024 * 1024;

/// The largest window that a client chooses by itself; the hub's default.
pub const MAX_IN_FLIGHT: usize = 1000;
/// The look-ahead is what the application works off in this time.
pub const LOOK_AHEAD: Duration = Duration::from_millis(100);
/// Events after which the window follows their speed.
pub const RESIZE_AFTER_EVENTS: usize = 8;
/// Time between two changes of the window.
pub const RESIZE_EVERY: Duration = Duration::from_millis(100);
/// How long an event is leased by default, and in any case while it waits for a handler. Longer than the minute after
/// which a hub gives up a silent client and returns its events: a program that blocks its runtime for long is not charged
/// attempts for events that it never began.
pub const WAITING_LEASE: Duration = Duration::from_secs(90);
/// Acks that a runner sends together at most.
pub const ACK_BATCH: usize = 256;
/// Deliveries that the application does not take go back to the group after this time: an application that is stuck
/// should not keep them from others.
pub const GIVE_BACK_AFTER: Duration = Duration::from_secs(600);
/// Events of a tail that wait for the application; beyond it the hub is asked to pause.
pub const TAIL_EVENTS: usize = 4096;
/// Bytes of a tail that wait for the application.
pub const TAIL_BYTES: usize = 8 * 1024 * 1024;
/// How many times its bound a queue may grow by events that were on their way. More is a broken hub.
pub const OVERFULL: usize = 16;
/// Changes of partitions that the application has not looked at; older ones give way to newer ones.
pub const ASSIGNMENT_CHANGES: usize = 1024;
/// Gaps that the application has not looked at; the newest are kept.
pub const GAPS: usize = 256;
/// Notices that a listener is behind; the newest are kept.
pub const NOTICES: usize = 256;
/// Between two warnings of one kind where no listener hears notices.
pub const WARN_EVERY: Duration = Duration::from_secs(60);
/// Between two notices of a hub that slows publishing down.
pub const SLOWED_EVERY: Duration = Duration::from_secs(1);
/// Before a subscription that the hub could not serve is asked for again.
pub const RESUBSCRIBE_AFTER: Duration = Duration::from_secs(1);
/// The wait after a refusal for overload that does not say how long.
pub const OVERLOAD_WAIT: Duration = Duration::from_millis(250);

/// A hub reads the logs of a tail in turn, in pieces no larger than this.
pub const TAIL_PIECE: u64 = 4096;
/// A resumed tail begins this much earlier, for what was stored at the same time elsewhere.
pub const TAIL_OVERLAP_MS: i64 = 2000;
