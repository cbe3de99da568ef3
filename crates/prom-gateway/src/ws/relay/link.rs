//! A link as its connection sees it: frames go in, answers come out.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::err::Problem;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::ws::burst::FrameReply;
use crate::ws::liveness::Living;
use crate::ws::seat::MemberSeat;

/// Frames that wait to be sent, beyond which the client is not read from.
pub const QUEUE: usize = 64;
/// Bytes of frames that wait to be sent, beyond which the client is not read from: a frame may be as large as a message.
const QUEUED_BYTES: usize = 1024 * 1024;
/// How often in its time to live a member is said to be alive.
const BEATS_PER_TTL: u32 = 4;

pub struct RelayLink {
    commands: mpsc::Sender<LinkCommand>,
    /// What is left of [`QUEUED_BYTES`].
    room: Arc<Semaphore>,
    pulse: Arc<LinkPulse>,
}

/// What the owner has to hear about members that must not fall silent.
#[derive(Default)]
pub(super) struct LinkPulse {
    members: AtomicUsize,
    told_ms: AtomicU64,
    pub beat: Notify,
}

impl LinkPulse {
    /// Whether the owner may hear of this link only when the client was heard.
    pub fn carries_members(&self) -> bool {
        self.members.load(Ordering::Relaxed) > 0
    }
}

pub(super) enum LinkCommand {
    /// As the client wrote it.
    Frame { text: Bytes, reply: oneshot::Sender<FrameReply>, room: Option<OwnedSemaphorePermit> },
    Subscribe {
        name: SubscriptionName,
        /// SUBSCRIBE, and what belongs right behind it.
        texts: Vec<Bytes>,
        seat: Arc<MemberSeat>,
        started: oneshot::Sender<Result<Subscribing, Problem>>,
    },
}

/// A subscription that the owner has taken.
pub struct Subscribing {
    /// Events are passed on when this is used or dropped: the client has its OK then.
    pub begin: oneshot::Sender<()>,
    /// Used when the owner ended it and the client was told; dropped when the link is lost.
    pub ended: oneshot::Receiver<()>,
    /// For the client.
    pub notes: Vec<String>,
}

impl RelayLink {
    pub(super) fn new(pulse: Arc<LinkPulse>) -> (Self, mpsc::Receiver<LinkCommand>) {
        let (commands, queue) = mpsc::channel(QUEUE);
        (Self { commands, room: Arc::new(Semaphore::new(QUEUED_BYTES)), pulse }, queue)
    }

    pub fn is_lost(&self) -> bool {
        self.commands.is_closed()
    }

    /// Sends a frame on; the answer comes later, or never where the link is lost.
    pub async fn forward(&self, text: Bytes) -> oneshot::Receiver<FrameReply> {
        let (reply, answer) = oneshot::channel();
        // One that is larger than everything that may wait does so alone.
        let bytes = u32::try_from(text.len().min(QUEUED_BYTES)).unwrap_or(u32::MAX);
        let room = self.room.clone().acquire_many_owned(bytes).await.ok();
        // Lost: then the answer's sender is gone with it.
        drop(self.commands.send(LinkCommand::Frame { text, reply, room }).await);
        answer
    }

    /// `None` when the link is lost.
    pub async fn subscribe(
        &self,
        name: SubscriptionName,
        texts: Vec<Bytes>,
        seat: Arc<MemberSeat>,
    ) -> Option<Result<Subscribing, Problem>> {
        let (started, answer) = oneshot::channel();
        self.commands.send(LinkCommand::Subscribe { name, texts, seat, started }).await.ok()?;
        answer.await.ok()
    }
}

/// A member behind a link that is taken for gone when it is silent for too long.
pub struct Relayed {
    /// Watching over a member does not keep the link open.
    link: Weak<RelayLink>,
    pulse: Arc<LinkPulse>,
    seat: Arc<MemberSeat>,
    ttl: Duration,
}

impl Relayed {
    pub fn new(link: &Arc<RelayLink>, seat: Arc<MemberSeat>, ttl: Duration) -> Self {
        link.pulse.members.fetch_add(1, Ordering::Relaxed);
        Self { link: Arc::downgrade(link), pulse: link.pulse.clone(), seat, ttl }
    }
}

impl Drop for Relayed {
    fn drop(&mut self) {
        self.pulse.members.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Living for Relayed {
    fn ttl(&self) -> Duration {
        self.ttl
    }

    fn heartbeat(&self, now: Duration) {
        let (now_ms, pulse) = (millis(now), &self.pulse);
        let since_ms = now_ms.saturating_sub(pulse.told_ms.load(Ordering::Relaxed));
        if since_ms >= millis(self.ttl / BEATS_PER_TTL) {
            pulse.told_ms.store(now_ms, Ordering::Relaxed);
            pulse.beat.notify_one();
        }
    }

    fn watched(&self, _now: Duration) {}

    fn is_ended(&self) -> bool {
        self.seat.is_ended() || self.link.upgrade().is_none_or(|link| link.is_lost())
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
