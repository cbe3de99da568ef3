//! Deadlines of a connection: the first AUTH, the token's end, silence.

use std::time::Duration;

use parking_lot::Mutex;
use prom_engine::SubscriptionControl;
use prom_protocol::frame::err::Problem;
use prom_protocol::{CloseCode, ErrorCode};
use prom_types::EpochMs;
use tokio::sync::Notify;

use super::connection::End;
use super::outbox::Outbox;
use crate::Hub;

/// While a token is judged.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// What is known about a client's life.
pub struct Pulse {
    state: Mutex<PulseState>,
    changed: Notify,
}

/// A member behind a connection: gone when its client is silent for too long.
pub trait Living: Send + Sync {
    fn ttl(&self) -> Duration;

    /// The client was alive at this time of the monotonic clock.
    fn heartbeat(&self, now: Duration);

    /// The connection was looked at.
    fn watched(&self, now: Duration);

    fn is_ended(&self) -> bool;
}

/// A member of a group at this hub.
struct GroupMember(SubscriptionControl, Duration);

impl Living for GroupMember {
    fn ttl(&self) -> Duration {
        self.1
    }

    fn heartbeat(&self, now: Duration) {
        self.0.heartbeat(now);
    }

    fn watched(&self, now: Duration) {
        self.0.watched(now);
    }

    fn is_ended(&self) -> bool {
        self.0.is_ended()
    }
}

/// Times are on the monotonic clock.
struct PulseState {
    heard: Duration,
    /// The first ping that nothing came after.
    pinged: Option<Duration>,
    connected: Duration,
    authenticated: bool,
    expires_at_ms: Option<EpochMs>,
    at_work: Option<ReadPause>,
    /// Subscriptions whose partitions go to others when the client falls silent.
    members: Vec<Box<dyn Living>>,
    looked: Duration,
}

/// A member that is silent is pinged this often in its time to live. At worst half of the time is over
/// when the first ping leaves, and the other half is for the answer.
const PINGS_PER_TTL: u32 = 4;

/// Why a connection is not being read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadPause {
    /// A token is being judged: its deadline was kept.
    Judging,
    /// Too much is under way.
    Backpressure,
}

impl Pulse {
    pub fn new(now: Duration) -> Self {
        let state = PulseState {
            heard: now,
            pinged: None,
            connected: now,
            authenticated: false,
            expires_at_ms: None,
            at_work: None,
            members: Vec::new(),
            looked: now,
        };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    pub fn heard(&self, now: Duration) {
        let mut state = self.state.lock();
        state.heard = now;
        state.pinged = None;
        state.members.iter().for_each(|member| member.heartbeat(now));
    }

    /// The client's life is the life of this member, if it can fall silent. It is alive now: it has just
    /// asked for it.
    pub fn watch_over(&self, member: &SubscriptionControl, now: Duration) {
        if let Some(ttl) = member.ttl() {
            self.watch(Box::new(GroupMember(member.clone(), ttl)), now);
        }
    }

    /// As [`Pulse::watch_over`], for one who may be elsewhere.
    pub fn watch(&self, member: Box<dyn Living>, now: Duration) {
        let mut state = self.state.lock();
        member.heartbeat(now);
        member.watched(now);
        state.members.retain(|known| !known.is_ended());
        state.members.push(member);
        drop(state);
        self.changed.notify_one();
    }

    pub fn authenticated(&self, expires_at_ms: Option<EpochMs>) {
        let mut state = self.state.lock();
        state.authenticated = true;
        state.expires_at_ms = expires_at_ms;
        drop(state);
        self.changed.notify_one();
    }

    /// Nothing is read until [`Pulse::reads_again`].
    pub fn works(&self, work: ReadPause) {
        self.state.lock().at_work = Some(work);
    }

    pub fn reads_again(&self) {
        self.state.lock().at_work = None;
    }
}

impl PulseState {
    /// Notes the look; returns how often the client has to be pinged, and when to look
    /// again at the latest.
    fn look_after_members(&mut self, now: Duration, ping_interval: Duration) -> (Duration, Duration) {
        self.members.retain(|member| !member.is_ended());
        let shortest = self.members.iter().map(|member| member.ttl()).min();
        let Some(ttl) = shortest else {
            self.looked = now;
            return (ping_interval, ping_interval);
        };
        let interval = ping_interval.min(ttl / PINGS_PER_TTL);
        // A hub that did not look for long has not listened either: that is not the client's silence.
        let was_away = now.saturating_sub(self.looked) > ttl / 2;
        self.looked = now;
        for member in &self.members {
            if was_away || self.at_work == Some(ReadPause::Backpressure) && self.heard == now {
                member.heartbeat(now);
            }
            member.watched(now);
        }
        let to_the_end = (self.heard + ttl).saturating_sub(now);
        let look_in = if to_the_end.is_zero() { interval } else { interval.min(to_the_end) };
        (interval, look_in)
    }
}

/// Pings a silent client, and returns when a deadline is over.
pub async fn watch(pulse: &Pulse, outbox: &Outbox, hub: &Hub) -> End {
    loop {
        let wait = match look(pulse, outbox, hub) {
            Ok(wait) => wait,
            Err(end) => return end,
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = pulse.changed.notified() => {}
        }
    }
}

/// How long nothing happens, or why the connection ends.
fn look(pulse: &Pulse, outbox: &Outbox, hub: &Hub) -> Result<Duration, End> {
    let options = &hub.options;
    let now = hub.clock.monotonic();
    let mut state = pulse.state.lock();
    let mut wait = options.ping_interval;
    if state.at_work == Some(ReadPause::Judging) {
        // The judgement is on its way and brings its own end.
        return Ok(wait.min(LOOK_AGAIN));
    }
    if !state.authenticated {
        let waited = now.saturating_sub(state.connected);
        let Some(left) = options.auth_deadline.checked_sub(waited).filter(|left| !left.is_zero()) else {
            let msg = "no valid AUTH came in time";
            return Err(End::close(CloseCode::AuthDeadline, Problem::new(ErrorCode::Unauthorized, msg)));
        };
        wait = wait.min(left);
    }
    if let Some(expires_at_ms) = state.expires_at_ms {
        let left_ms = expires_at_ms.saturating_sub(hub.clock.now_ms());
        if left_ms <= 0 {
            let msg = "the token has expired; connect again with a fresh one";
            return Err(End::close(CloseCode::JwtExpired, Problem::new(ErrorCode::JwtExpired, msg)));
        }
        wait = wait.min(Duration::from_millis(left_ms.unsigned_abs()));
    }
    if state.at_work == Some(ReadPause::Backpressure) && outbox.has_room() {
        // The hub is slow, not the client.
        state.heard = now;
        state.pinged = None;
    }
    let (ping_interval, look_in) = state.look_after_members(now, options.ping_interval);
    wait = wait.min(look_in);
    if now.saturating_sub(state.heard) >= ping_interval {
        let unanswered = now.saturating_sub(*state.pinged.get_or_insert(now));
        let Some(left) = options.silence_limit.checked_sub(unanswered).filter(|left| !left.is_zero()) else {
            return Err(End::quiet(CloseCode::Silent));
        };
        wait = wait.min(left);
        outbox.ping();
    }
    // A moment later, so that the clock is past the deadline when it is looked at.
    Ok(wait + Duration::from_millis(1))
}
