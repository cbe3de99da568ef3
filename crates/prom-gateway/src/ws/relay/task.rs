//! The task of a link: it owns the socket to the group's owner.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use hashbrown::HashMap;
use prom_client::wire::{Wire, WireReading};
use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::err::Problem;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

use super::link::{LinkCommand, LinkPulse, QUEUE, Subscribing};
use crate::Hub;
use crate::peers::{Batches, TOKEN_LIFETIME};
use crate::ws::burst::FrameReply;
use crate::ws::outbox::Outbox;
use crate::ws::seat::MemberSeat;

/// Frames under way, beyond which no more are sent.
const UNANSWERED: usize = 4096;
/// Bytes that wait to leave, beyond which no more are added.
const WAITING_BYTES: usize = 256 * 1024;
/// The owner is asked whether it is there this often in its time to live, and has as long to let this hub in: one that
/// is stopped still takes connections.
pub const PINGS_PER_TTL: u32 = 3;

pub struct RelayTask {
    pub hub: Arc<Hub>,
    pub wire: Wire,
    pub outbox: Arc<Outbox>,
    batches: Batches,
    commands: mpsc::Receiver<LinkCommand>,
    pub pulse: Arc<LinkPulse>,
    /// In the order of the frames.
    pub pending: VecDeque<PendingAnswer>,
    pub subscriptions: HashMap<SubscriptionName, Followed>,
    /// The client has not been told yet that its subscription begins.
    pub gate: Option<oneshot::Receiver<()>>,
    /// Waits for room at the client.
    pub held: Option<Bytes>,
    /// Since when the owner owes a sign of life.
    waits_since: Option<Instant>,
    /// An owner that is silent for this long is given up.
    patience: Duration,
    renew_token_at: Instant,
}

/// What a frame that was sent waits for.
pub enum PendingAnswer {
    Frame(oneshot::Sender<FrameReply>),
    Subscribe {
        name: SubscriptionName,
        seat: Arc<MemberSeat>,
        started: oneshot::Sender<Result<Subscribing, Problem>>,
    },
    /// Its answer is of no interest, unless it is a refusal.
    Token,
    Ignored,
}

/// A subscription that the owner has taken.
pub struct Followed {
    pub seat: Weak<MemberSeat>,
    /// Used when the owner ended it.
    pub over: oneshot::Sender<()>,
}

impl RelayTask {
    pub fn new(
        hub: Arc<Hub>,
        wire: Wire,
        outbox: Arc<Outbox>,
        batches: Batches,
        commands: mpsc::Receiver<LinkCommand>,
        pulse: Arc<LinkPulse>,
    ) -> Self {
        Self {
            wire,
            outbox,
            batches,
            commands,
            pulse,
            pending: VecDeque::new(),
            subscriptions: HashMap::new(),
            gate: None,
            held: None,
            waits_since: None,
            patience: hub.bus.hub_ttl().unwrap_or(prom_engine::limits::HUB_TTL),
            renew_token_at: Instant::now() + TOKEN_LIFETIME / 2,
            hub,
        }
    }

    /// Runs until the link is lost or not needed any more; returns why.
    pub async fn run(mut self) -> String {
        loop {
            if let Err(why) = self.turn().await {
                return why;
            }
        }
    }

    /// Takes in what has come, then waits for the next thing.
    async fn turn(&mut self) -> Result<(), String> {
        self.take_messages()?;
        let (listens, heard) = (self.listens(), self.wire.last_received());
        self.waits_since = match self.waits_since {
            // What it may have said meanwhile was not listened to.
            Some(_) if !listens => Some(Instant::now()),
            Some(since) if since < heard => None,
            since => since,
        };
        let lost_at = self.waits_since.map(|since| since + self.patience());
        let may_send = self.pending.len() < UNANSWERED && self.wire.waiting_bytes() < WAITING_BYTES;
        // A member whose client is silent must not seem alive: then only its heartbeats ask, and what it has under way.
        let may_ask = self.waits_since.is_none() && !(self.pulse.carries_members() && self.pending.is_empty());
        let moved = tokio::select! {
            moved = self.wire.step(if listens { WireReading::On } else { WireReading::Held }) => moved,
            () = sleep_until(lost_at.unwrap_or(heard)), if lost_at.is_some() => return Err("the other hub is silent".to_owned()),
            () = sleep_until(heard + self.patience / PINGS_PER_TTL), if may_ask => return self.ask(),
            () = sleep_until(self.renew_token_at) => return self.renew_token(),
            () = self.pulse.beat.notified() => return self.ask(),
            command = self.commands.recv(), if may_send => return self.take_commands(command),
            () = opened(&mut self.gate) => {
                self.gate = None;
                return Ok(());
            }
            () = self.outbox.room(), if self.held.is_some() => {
                self.pass_on_held();
                return Ok(());
            }
        };
        match moved {
            Ok(true) => Ok(()),
            Ok(false) => Err("the other hub hung up".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Nothing more is read while the client has to take something first.
    pub fn listens(&self) -> bool {
        self.held.is_none() && self.gate.is_none()
    }

    /// How long it may be silent. An owner that takes a subscription in reads nothing else meanwhile.
    fn patience(&self) -> Duration {
        let subscribes = self.pending.iter().any(|pending| matches!(pending, PendingAnswer::Subscribe { .. }));
        if subscribes { self.patience * 2 } else { self.patience }
    }

    fn ask(&mut self) -> Result<(), String> {
        self.wire.ping();
        self.waits_since.get_or_insert_with(Instant::now);
        Ok(())
    }

    /// The first that came, and those behind it.
    fn take_commands(&mut self, first: Option<LinkCommand>) -> Result<(), String> {
        let Some(first) = first else {
            return Err("it is not needed any more".to_owned());
        };
        self.send(first);
        for _ in 1..QUEUE {
            if self.wire.waiting_bytes() >= WAITING_BYTES {
                break;
            }
            let Ok(next) = self.commands.try_recv() else {
                break;
            };
            self.send(next);
        }
        Ok(())
    }

    fn send(&mut self, command: LinkCommand) {
        match command {
            LinkCommand::Frame { text, reply, room } => {
                self.write(&text, PendingAnswer::Frame(reply));
                drop(room);
            }
            LinkCommand::Subscribe { name, texts, seat, started } => {
                let mut texts = texts.into_iter();
                if let Some(first) = texts.next() {
                    self.write(&first, PendingAnswer::Subscribe { name, seat, started });
                }
                texts.for_each(|more| self.write(&more, PendingAnswer::Ignored));
            }
        }
    }

    pub fn write(&mut self, text: &[u8], pending: PendingAnswer) {
        self.wire.send(text);
        self.pending.push_back(pending);
    }

    fn renew_token(&mut self) -> Result<(), String> {
        self.renew_token_at = Instant::now() + TOKEN_LIFETIME / 2;
        let Some(peers) = &self.hub.peers else {
            return Ok(());
        };
        let auth = peers.auth_frame(self.batches).map_err(|error| error.to_string())?;
        self.write(&auth, PendingAnswer::Token);
        Ok(())
    }
}

/// Ready when the client has been told; never where there is nothing to wait for.
async fn opened(gate: &mut Option<oneshot::Receiver<()>>) {
    match gate {
        // Dropped, it is open too: the subscription went away.
        Some(gate) => drop(gate.await),
        None => std::future::pending().await,
    }
}
