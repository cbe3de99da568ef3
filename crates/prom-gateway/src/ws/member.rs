//! The task of one subscription in a group: it keeps it served, by this hub or through the group's owner,
//! until the client or the group is done with it.
//!
//! ```text
//!             ┌──▶ here:  the bus leases, the pump writes ───────┐
//!   place ────┤                                                  ├─ taken over ─▶ place again
//!             └──▶ there: the owner leases, the link passes on ──┘
//! ```

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use prom_engine::{Error, ErrorKind, Subscription};
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::subscribe::{Subscribe, SubscribeOpts};
use prom_protocol::frame::{SubscriptionName, pause, unsubscribe};
use prom_protocol::{CloseCode, ErrorCode};
use prom_types::GroupName;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout_at};

use super::connection::{Connection, Speaker};
use super::deliver::DeliveryPump;
use super::inflight::{Inflight, Naming};
use super::liveness::Pulse;
use super::outbox::{Outbox, frame};
use super::relay::{Links, RelayLink, Relayed, Subscribing};
use super::seat::{Local, MemberSeat, SeatLocation, SeatWishes};
use super::sight::Sight;
use super::subscribe::join;
use crate::peers::Batches;
use crate::{Hub, problem};

/// Between two looks for the hub that serves a group: doubling.
const FIRST_RETRY: Duration = Duration::from_millis(20);
const LONGEST_RETRY: Duration = Duration::from_millis(500);
/// A client that subscribes while its group has no owner waits this much longer than the owner's time.
const GRACE: Duration = Duration::from_secs(5);

pub struct GroupMember {
    pub hub: Arc<Hub>,
    pub outbox: Arc<Outbox>,
    pulse: Arc<Pulse>,
    links: Arc<Links>,
    speaker: Speaker,
    pub batches: bool,
    pub name: SubscriptionName,
    pub group: GroupName,
    opts: SubscribeOpts,
    /// Whose token it came with, and where it comes from: for people.
    pub subject: Option<Arc<str>>,
    pub address: String,
    pub seat: Arc<MemberSeat>,
    pub sight: Sight,
}

/// Where a subscription has been placed.
pub enum ServedBy {
    Here(Subscription),
    There(There),
}

impl ServedBy {
    /// What the group has otherwise than the subscriber asked.
    pub fn notes(&self) -> Vec<String> {
        match self {
            Self::Here(subscription) => subscription.differences().iter().map(ToString::to_string).collect(),
            Self::There(there) => there.subscribing.notes.clone(),
        }
    }
}

/// At another hub.
pub struct There {
    link: Arc<RelayLink>,
    subscribing: Subscribing,
    /// What that hub was told last.
    told: SeatWishes,
}

/// Why it could not be.
enum NotServed {
    /// Looking again may help: the owner changes, or cannot be reached.
    Later(Problem),
    Never(Problem),
}

impl NotServed {
    fn into_problem(self) -> Problem {
        match self {
            Self::Later(problem) | Self::Never(problem) => problem,
        }
    }
}

/// How its time at one place ended.
enum Left {
    Over,
    TakenOver,
}

impl GroupMember {
    pub fn new(connection: &Connection, name: SubscriptionName, group: GroupName, mut opts: SubscribeOpts) -> Self {
        opts.member_id.get_or_insert_with(|| match &connection.hub.peers {
            // Connections of several hubs have the same names.
            Some(peers) => format!("{}@{}", connection.name, peers.name),
            None => connection.name.clone(),
        });
        Self {
            hub: connection.hub.clone(),
            outbox: connection.outbox.clone(),
            pulse: connection.pulse.clone(),
            links: connection.links.clone(),
            speaker: connection.speaker,
            subject: connection.subject().cloned(),
            batches: connection.batches,
            name,
            group,
            sight: if opts.masked == Some(true) { Sight::Masked } else { Sight::Whole },
            opts,
            address: connection.peer.to_string(),
            seat: MemberSeat::new(),
        }
    }

    /// The first place, for which the client waits; not for longer than it takes to follow a dead owner.
    pub async fn settle_in(&self) -> Result<ServedBy, Problem> {
        let Some(hub_ttl) = self.hub.bus.hub_ttl() else {
            return self.place().await.map_err(NotServed::into_problem);
        };
        let limit = Instant::now() + hub_ttl + GRACE;
        let mut wait = FIRST_RETRY;
        let mut last = Problem::new(ErrorCode::Overloaded, "the hub that serves this group does not answer; try again");
        loop {
            match timeout_at(limit, self.place()).await {
                Ok(Ok(placed)) => return Ok(placed),
                Ok(Err(NotServed::Never(problem))) => return Err(problem),
                Ok(Err(NotServed::Later(problem))) => last = problem,
                Err(_) => return Err(last),
            }
            sleep(self.scattered(wait)).await;
            wait = (wait * 2).min(LONGEST_RETRY);
        }
    }

    /// Serves until it is over. The first events come after `begun`.
    pub async fn run(self, first: ServedBy, begun: oneshot::Receiver<()>) {
        if begun.await.is_err() {
            // Dropped without a word: the connection is gone, and its links with it.
            if let ServedBy::Here(subscription) = first {
                subscription.unsubscribe().await;
            }
            return;
        }
        let mut placed = Some(first);
        while let Some(place) = placed.take() {
            let left = match place {
                ServedBy::Here(subscription) => self.serve_here(subscription).await,
                ServedBy::There(there) => self.serve_there(there).await,
            };
            match left {
                Left::Over => {}
                Left::TakenOver if self.speaker == Speaker::Hub => {
                    // The hub at the other end looks for the new owner by itself.
                    self.outbox.close(CloseCode::GoingAway.code(), "the group is served by another hub");
                }
                Left::TakenOver => {
                    self.seat.take(SeatLocation::Moving);
                    self.tell_revoked();
                    placed = self.place_again().await;
                }
            }
        }
        // A link lives as long as a subscription is served through it. What was leased here is still known, to say that it is
        // not any more.
        if self.seat.there().is_some() {
            self.seat.take(SeatLocation::Moving);
        }
    }

    async fn serve_here(&self, subscription: Subscription) -> Left {
        let Some(Local { inflight, .. }) = self.seat.here() else {
            subscription.unsubscribe().await;
            return Left::Over;
        };
        match DeliveryPump::new(self, inflight).run(subscription).await {
            Some(failure) if failure.is_takeover() && !self.seat.is_ended() => Left::TakenOver,
            Some(failure) => {
                self.tell(&problem::of_bus(&failure));
                Left::Over
            }
            None => Left::Over,
        }
    }

    async fn serve_there(&self, there: There) -> Left {
        let There { link, subscribing: Subscribing { begin, ended, .. }, mut told } = there;
        let _link_is_lost = begin.send(());
        // The client may have changed its mind while no hub served it.
        while self.seat.wishes() != told && !link.is_lost() {
            told = self.seat.wishes();
            drop(link.forward(text(|out| pause::write_resume(out, None, &self.name, told.max_in_flight))).await);
            if told.is_paused {
                drop(link.forward(text(|out| pause::write_pause(out, None, &self.name))).await);
            }
        }
        tokio::select! {
            ended = ended => match ended {
                Ok(()) => return Left::Over,
                Err(_) => return Left::TakenOver,
            },
            () = self.seat.ended() => {}
        }
        // Where the client asked for it, its connection has told the owner already.
        if self.seat.there().is_some() {
            let unsubscribed = link.forward(text(|out| unsubscribe::write(out, None, &self.name))).await;
            // Even if it is lost on the way, the leases go back.
            drop(unsubscribed.await);
        }
        Left::Over
    }

    /// Looks until a hub serves it, or it is not wanted any more.
    async fn place_again(&self) -> Option<ServedBy> {
        let mut wait = FIRST_RETRY;
        loop {
            let placed = tokio::select! {
                placed = async {
                    sleep(self.scattered(wait)).await;
                    self.place().await
                } => placed,
                () = self.seat.ended() => return None,
            };
            match placed {
                Ok(placed) => return Some(placed),
                Err(NotServed::Never(problem)) => {
                    self.tell(&problem);
                    return None;
                }
                Err(NotServed::Later(problem)) => {
                    tracing::debug!(group = %self.group, why = problem.msg, "no place yet for a subscription");
                    wait = (wait * 2).min(LONGEST_RETRY);
                }
            }
        }
    }

    /// Between half of a time and all of it, different for each: those who lost the same hub do not come together.
    fn scattered(&self, wait: Duration) -> Duration {
        let share = (Arc::as_ptr(&self.seat) as usize >> 4) % 64;
        wait / 2 + wait * u32::try_from(share).unwrap_or(0) / 128
    }

    /// As it was subscribed to, with the window that the client wants now.
    fn opts(&self) -> SubscribeOpts {
        let max_in_flight = self.seat.wishes().max_in_flight.or(self.opts.max_in_flight);
        SubscribeOpts { max_in_flight, ..self.opts.clone() }
    }

    async fn place(&self) -> Result<ServedBy, NotServed> {
        match join(self, &self.opts()).await {
            Ok(subscription) => Ok(self.placed_here(subscription)),
            Err(SubscribeError::Problem(problem)) => Err(NotServed::Never(problem)),
            Err(SubscribeError::Bus(Error::ServedElsewhere { url, group })) => match (&self.hub.peers, self.speaker) {
                (Some(_), Speaker::Client) => self.place_there(&url).await,
                _ => Err(NotServed::Never(problem::of_bus(&Error::ServedElsewhere { url, group }))),
            },
            Err(SubscribeError::Bus(error)) => {
                // A hub looks again by itself, and not only here.
                let waits = self.hub.peers.is_some() && self.speaker == Speaker::Client && is_passing(&error);
                let problem = problem::of_bus(&error);
                Err(if waits { NotServed::Later(problem) } else { NotServed::Never(problem) })
            }
        }
    }

    fn placed_here(&self, subscription: Subscription) -> ServedBy {
        let naming = if self.batches { Naming::Offset } else { Naming::Id };
        let window = self.opts().max_in_flight.unwrap_or(prom_engine::limits::MAX_IN_FLIGHT);
        let inflight = Arc::new(Mutex::new(Inflight::new(naming, window)));
        let control = subscription.control();
        self.pulse.watch_over(&control, self.hub.clock.monotonic());
        self.seat.take(SeatLocation::Here(Local { control, inflight }));
        ServedBy::Here(subscription)
    }

    async fn place_there(&self, url: &str) -> Result<ServedBy, NotServed> {
        let batches = if self.batches { Batches::Yes } else { Batches::No };
        let link = self.links.get(&self.hub, &self.outbox, batches, (&self.group, url)).await;
        let link = link.map_err(|why| NotServed::Later(unreachable(url, &why)))?;
        let told = self.seat.wishes();
        let subscribe = Subscribe { name: self.name.clone(), opts: self.opts() };
        let mut texts = vec![text(|out| subscribe.write(out, None))];
        if told.is_paused {
            texts.push(text(|out| pause::write_pause(out, None, &self.name)));
        }
        match link.subscribe(self.name.clone(), texts, self.seat.clone()).await {
            Some(Ok(subscribing)) => {
                self.seat.take(SeatLocation::There(link.clone()));
                // The owner knows whether the group's members can fall silent; those of others never do.
                let ttl = self.opts.ttl_ms.map_or(prom_engine::limits::MEMBER_TTL, Duration::from_millis);
                let member = Relayed::new(&link, self.seat.clone(), ttl);
                self.pulse.watch(Box::new(member), self.hub.clock.monotonic());
                Ok(ServedBy::There(There { link, subscribing, told }))
            }
            Some(Err(problem)) => Err(match problem.code {
                // The owner does not wait for its store; this hub does.
                ErrorCode::Fenced | ErrorCode::Overloaded | ErrorCode::Internal => NotServed::Later(problem),
                _ => NotServed::Never(problem),
            }),
            None => Err(NotServed::Later(unreachable(url, "the connection broke"))),
        }
    }

    /// The hub that serves it next begins with nothing.
    fn tell_revoked(&self) {
        for told in self.seat.take_assigned() {
            self.outbox.put(|out| frame(out, |out| told.write_revoked(out, &self.name)));
        }
    }

    fn tell(&self, problem: &Problem) {
        self.outbox.put(|out| frame(out, |out| problem.write_for(out, &self.name)));
    }
}

/// Why a subscription did not begin at the bus.
pub enum SubscribeError {
    /// It was refused before the bus was asked.
    Problem(Problem),
    Bus(Error),
}

/// Whether it may be otherwise in a moment.
fn is_passing(error: &Error) -> bool {
    error.is_takeover() || error.kind() == ErrorKind::Store
}

fn unreachable(url: &str, why: &str) -> Problem {
    Problem::new(ErrorCode::Overloaded, format!("the hub at {url} serves this group and cannot be reached: {why}"))
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut out = Vec::new();
    write(&mut out);
    out.into()
}
