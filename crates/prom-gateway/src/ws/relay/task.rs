//! The task of a link: it owns the socket to the group's owner.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use hashbrown::HashMap;
use prom_client::wire::Wire;
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::{HubFrame, SubscriptionName};
use prom_protocol::websocket::Message;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use super::link::{Command, Link, LinkPulse, QUEUE, Subscribing};
use crate::Hub;
use crate::peers::{Batches, Peers, TOKEN_LIFETIME};
use crate::ws::burst::Reply;
use crate::ws::outbox::{Outbox, frame};
use crate::ws::seat::Seat;

/// Frames under way, beyond which no more are sent.
const UNANSWERED: usize = 4096;
/// Bytes that wait to leave, beyond which no more are added.
const WAITING_BYTES: usize = 256 * 1024;
/// The owner is asked whether it is there this often in its time to live, and has as long to let this hub in: one that
/// is stopped still takes connections.
const PINGS_PER_TTL: u32 = 3;

struct Task {
    hub: Arc<Hub>,
    wire: Wire,
    outbox: Arc<Outbox>,
    batches: Batches,
    commands: mpsc::Receiver<Command>,
    pulse: Arc<LinkPulse>,
    /// In the order of the frames.
    pending: VecDeque<Pending>,
    subscriptions: HashMap<SubscriptionName, Followed>,
    /// The client has not been told yet that its subscription begins.
    gate: Option<oneshot::Receiver<()>>,
    /// Waits for room at the client.
    held: Option<Bytes>,
    /// Since when the owner owes an answer.
    waits_since: Option<Instant>,
    /// Silent for so long, the owner is given up.
    patience: Duration,
    renew_token_at: Instant,
}

/// What a frame that was sent waits for.
enum Pending {
    Frame(oneshot::Sender<Reply>),
    Subscribe { name: SubscriptionName, seat: Arc<Seat>, started: oneshot::Sender<Result<Subscribing, Problem>> },
    Token,
}

/// A subscription that the owner has taken.
struct Followed {
    seat: Arc<Seat>,
    /// Used when the owner ended it.
    over: oneshot::Sender<()>,
}

/// Connects to the owner of a group and lets the link run.
pub async fn open(
    hub: &Arc<Hub>,
    peers: &Peers,
    outbox: Arc<Outbox>,
    batches: Batches,
    url: &str,
) -> Result<Arc<Link>, String> {
    let patience = hub.bus.hub_ttl().unwrap_or(prom_engine::limits::HUB_TTL);
    let auth = peers.auth_frame(batches).map_err(|error| error.to_string())?;
    let dialled = timeout(patience / PINGS_PER_TTL, async {
        let mut wire = peers.dial(url).await.map_err(|error| error.to_string())?;
        authenticate(&mut wire, &auth).await?;
        Ok::<_, String>(wire)
    });
    let wire = dialled.await.map_err(|_| "it does not answer".to_owned())??;
    let pulse = Arc::new(LinkPulse::default());
    let (link, commands) = Link::new(pulse.clone());
    let task = Task {
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
        patience,
        renew_token_at: Instant::now() + TOKEN_LIFETIME / 2,
        hub: hub.clone(),
    };
    let url = url.to_owned();
    tokio::spawn(async move {
        let hub = task.hub.clone();
        hub.links.fetch_add(1, Ordering::Relaxed);
        let why = task.run().await;
        hub.links.fetch_sub(1, Ordering::Relaxed);
        tracing::debug!(url, why, "a link to another hub ends");
    });
    Ok(Arc::new(link))
}

async fn authenticate(wire: &mut Wire, auth: &[u8]) -> Result<(), String> {
    let broken = |error: prom_client::Error| error.to_string();
    wire.send(auth).map_err(broken)?;
    loop {
        while let Some(message) = wire.next_message().map_err(broken)? {
            let Message::Text(text) = message else {
                continue;
            };
            return match HubFrame::read(text) {
                Ok(HubFrame::Ok(_)) => Ok(()),
                Ok(HubFrame::Err { problem, .. }) => Err(format!("the other hub refused AUTH: {}", problem.msg)),
                _ => Err("the other hub answered AUTH oddly".to_owned()),
            };
        }
        if !wire.step().await.map_err(broken)? {
            return Err("the other hub hung up during AUTH".to_owned());
        }
    }
}

impl Task {
    /// Runs until the link is lost or nobody needs it; returns why.
    async fn run(mut self) -> String {
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
        let lost_at =
            self.waits_since.map_or_else(|| heard + Duration::from_secs(86_400), |since| since + self.patience);
        let may_send = self.pending.len() < UNANSWERED && self.wire.waiting_bytes() < WAITING_BYTES;
        // A member whose client is silent must not seem alive: then only its heartbeats ask.
        let may_ask = self.waits_since.is_none() && !self.pulse.carries_members();
        let moved = tokio::select! {
            moved = step(&mut self.wire, listens) => moved,
            () = sleep_until(lost_at) => return Err("the other hub is silent".to_owned()),
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
    fn listens(&self) -> bool {
        self.held.is_none() && self.gate.is_none()
    }

    fn ask(&mut self) -> Result<(), String> {
        self.wire.ping();
        self.waits_since.get_or_insert_with(Instant::now);
        Ok(())
    }

    fn take_messages(&mut self) -> Result<(), String> {
        while self.listens() {
            let Some(message) = self.wire.next_message().map_err(|error| error.to_string())? else {
                return Ok(());
            };
            match message {
                Message::Text(text) => self.take(text)?,
                // Whoever carries members answers by their heartbeats.
                Message::Ping(payload) if !self.pulse.carries_members() => self.wire.pong(&payload),
                Message::Ping(_) | Message::Pong => {}
                Message::Close(_) => return Err("the other hub closed the connection".to_owned()),
            }
        }
        Ok(())
    }

    fn take(&mut self, text: Bytes) -> Result<(), String> {
        let is_ok = text.starts_with(b"{\"op\":\"OK\"");
        if !is_ok && !text.starts_with(b"{\"op\":\"ERR\"") {
            self.note(&text);
            self.held = Some(text);
            if self.outbox.has_room() {
                self.pass_on_held();
            }
            return Ok(());
        }
        if is_ok {
            return self.answer(text, None);
        }
        match HubFrame::read(text.clone()) {
            Ok(HubFrame::Err { problem, subscription: None, .. }) => self.answer(text, Some(problem)),
            Ok(HubFrame::Err { subscription: Some(name), .. }) => {
                // The client hears why, as it would from the owner itself.
                self.outbox.put(|out| frame(out, |out| out.extend_from_slice(&text)));
                if let Some(followed) = self.subscriptions.remove(&name) {
                    let _nobody_waits = followed.over.send(());
                }
                Ok(())
            }
            _ => Err("the other hub sent an ERR that cannot be read".to_owned()),
        }
    }

    /// What the client is told of its partitions is remembered: it has to hear of it when they are gone.
    fn note(&self, text: &Bytes) {
        if text.starts_with(b"{\"op\":\"EVENT") {
            return;
        }
        let seat = |name: &SubscriptionName| self.subscriptions.get(name).map(|followed| &followed.seat);
        match HubFrame::read(text.clone()) {
            Ok(HubFrame::Assigned(name, told)) => drop(seat(&name).map(|seat| seat.note_assigned(&told))),
            Ok(HubFrame::Revoked(name, told)) => drop(seat(&name).map(|seat| seat.note_revoked(&told))),
            _ => {}
        }
    }

    fn answer(&mut self, text: Bytes, problem: Option<Problem>) -> Result<(), String> {
        let Some(pending) = self.pending.pop_front() else {
            return Err("the other hub answered what nobody asked".to_owned());
        };
        match (pending, problem) {
            (Pending::Frame(reply), _) => drop(reply.send(Reply::Raw(text))),
            (Pending::Token, None) => {}
            (Pending::Token, Some(problem)) => return Err(format!("the other hub refused AUTH: {}", problem.msg)),
            (Pending::Subscribe { started, .. }, Some(problem)) => drop(started.send(Err(problem))),
            (Pending::Subscribe { name, seat, started }, None) => {
                let (begin, begun) = oneshot::channel();
                let (over, ended) = oneshot::channel();
                if started.send(Ok(Subscribing { begin, ended })).is_ok() {
                    self.gate = Some(begun);
                    self.subscriptions.insert(name, Followed { seat, over });
                }
            }
        }
        Ok(())
    }

    fn pass_on_held(&mut self) {
        if let Some(text) = self.held.take() {
            self.outbox.put(|out| frame(out, |out| out.extend_from_slice(&text)));
        }
    }

    /// The first that came, and those behind it.
    fn take_commands(&mut self, first: Option<Command>) -> Result<(), String> {
        let Some(first) = first else {
            return Err("nobody needs it any more".to_owned());
        };
        self.send(first)?;
        for _ in 1..QUEUE {
            let Ok(next) = self.commands.try_recv() else {
                break;
            };
            self.send(next)?;
        }
        Ok(())
    }

    fn send(&mut self, command: Command) -> Result<(), String> {
        let (text, pending) = match command {
            Command::Frame { text, reply } => (text, Pending::Frame(reply)),
            Command::Subscribe { name, text, seat, started } => (text, Pending::Subscribe { name, seat, started }),
        };
        self.wire.send(&text).map_err(|error| error.to_string())?;
        self.pending.push_back(pending);
        self.waits_since.get_or_insert_with(Instant::now);
        Ok(())
    }

    fn renew_token(&mut self) -> Result<(), String> {
        self.renew_token_at = Instant::now() + TOKEN_LIFETIME / 2;
        let Some(peers) = &self.hub.peers else {
            return Ok(());
        };
        let auth = peers.auth_frame(self.batches).map_err(|error| error.to_string())?;
        self.wire.send(&auth).map_err(|error| error.to_string())?;
        self.pending.push_back(Pending::Token);
        Ok(())
    }
}

/// Writes what waits, and reads where somebody listens.
async fn step(wire: &mut Wire, listens: bool) -> Result<bool, prom_client::Error> {
    match listens {
        true => wire.step().await,
        false => wire.write().await.map(|()| true),
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
