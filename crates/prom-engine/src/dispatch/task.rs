//! The task around the dispatcher: the one place where a group's events of one partition meet the
//! store, the clock and the subscribers.
//!
//! ```text
//!   head moved ─┐                    ┌─▶ deliveries, in batches
//!   requests ───┼─▶ the machine ─────┼─▶ settlements: one commit under way, the rest gathers
//!   timer ──────┘                    └─▶ dead letters, each with its settlement
//! ```
//!
//! Promises: one owner, no lock, no polling. An ack is answered when its settlement is durable; when
//! a commit fails the group goes on in memory, the change travels with a later commit, and callers that
//! wait are told. A fenced dispatcher stops. Memory follows the windows, not the backlog.

mod by_hand;
mod filter;
mod give_back;
mod hand_out;
mod inbox;
mod lanes;
mod letters;
mod park;
mod records;
mod rest;
mod restart;
mod scan;
mod seats;
mod set_aside;
mod settle;
mod start;
mod topic_gone;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use prom_store::{CursorName, HeadWatch};
use prom_types::Offset;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, Sleep};

use self::filter::Filtering;
use self::lanes::Partitioned;
use self::letters::Letters;
use self::records::Records;
use self::rest::{RestWatch, Resting};
use self::restart::Survivors;
use self::seats::SubscriberSeat;
use self::set_aside::SetAside;
use self::settle::PendingSettlements;
use super::{Dispatcher, DispatcherWake, Leased, Order};
use crate::bus::{BusPhase, Core};
use crate::event::EventOrigin;
use crate::group::{Group, GroupOptions, Retired};
use crate::limits::{FIRST_RETRY, LONGEST_RETRY, MAILBOX, REQUESTS_AT_ONCE, REST_AFTER};
use crate::meters::{GroupMeter, HandOvers, InFlight};
use crate::outlet::Outlet;
use crate::{Error, Gap};

pub(crate) use self::by_hand::{MoveFrom, MoveOrder, ReleaseOrder, ReleaseWhich, SkipOrder};
pub(crate) use self::give_back::LetterRequest;
pub(crate) use self::inbox::{DispatchReport, DispatchRequest, LeaseHolder, SettleReply};
pub(crate) use self::lanes::LaneOrder;
pub(crate) use self::rest::Outlets;
pub(crate) use self::restart::run;

/// What a dispatcher is started with, and started again.
#[derive(Clone)]
pub(crate) struct DispatcherSetup {
    pub core: Arc<Core>,
    pub group: Arc<Group>,
    pub cursor: CursorName,
    pub options: Arc<GroupOptions>,
    pub wake: Arc<DispatcherWake>,
}

/// How others reach a dispatcher. Each one that is built has its own, so that no lease is settled by an ack of another.
pub(crate) struct DispatcherMailbox {
    pub sender: mpsc::Sender<DispatchRequest>,
    pub requests: mpsc::Receiver<DispatchRequest>,
}

impl DispatcherMailbox {
    pub fn new() -> Self {
        let (sender, requests) = mpsc::channel(MAILBOX);
        Self { sender, requests }
    }
}

pub(crate) struct DispatchTask {
    core: Arc<Core>,
    group: Arc<Group>,
    cursor: CursorName,
    epoch: u64,
    options: Arc<GroupOptions>,
    order: Order,
    filtering: Option<Filtering>,
    /// Changes of the group that were made to an older document are known already.
    options_revision: u64,
    machine: Dispatcher,
    /// Where each lane of the log has one owner.
    partitioned: Option<Partitioned>,

    requests: mpsc::Receiver<DispatchRequest>,
    inbox: Vec<DispatchRequest>,
    head: HeadWatch,
    wake: Arc<DispatcherWake>,
    phase: watch::Receiver<BusPhase>,
    timer: Pin<Box<Sleep>>,
    /// What the timer is set to, on the bus's clock.
    armed: Option<Duration>,
    rest: RestWatch,

    origin: Arc<EventOrigin>,
    seats: Vec<SubscriberSeat>,
    /// Gaps that were found while there was no subscriber: the first to come is told.
    untold_gaps: Vec<Gap>,
    /// The seat that is served first.
    turn: usize,
    records: Records,
    /// Events whose filter failed, with the reason: they go to the dead letters instead of a handler.
    condemned: BTreeMap<Offset, String>,
    /// Only while something was given back, or is parked.
    set_aside: Option<Box<SetAside>>,
    /// Whether anything was ever given back here, once that is known.
    has_marks: Option<bool>,
    /// No reading before this: the last read failed.
    reads: Retry,
    settlement: PendingSettlements,
    letters: Letters,
    leased: Vec<Leased>,
    released: Vec<(u64, usize)>,

    meter: Arc<GroupMeter>,
    in_flight: InFlight,
    hand_overs: HandOvers,
}

/// A thing that failed and is tried again later.
#[derive(Debug, Default)]
struct Retry {
    failures: u32,
    not_before: Option<Duration>,
}

/// Why a dispatcher ends.
enum End {
    /// No longer needed; already removed.
    Retired,
    /// Nothing to do; its mailbox is closed already.
    Rests,
    /// The bus stops.
    Stopped,
    /// Another one has the cursor, or the store is closed.
    Failed(fn(&CursorName) -> Error),
    /// Its group was deleted.
    Deleted(tokio::sync::oneshot::Sender<()>),
    /// Its topic was deleted.
    TopicGone(Option<tokio::sync::oneshot::Sender<()>>),
}

/// Whether there is more to do at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    Busy,
    Idle,
}

impl DispatchTask {
    /// Starts where the cursor stands and runs to the end. In `running` it can be found if it panics. `None` unless it
    /// rests now.
    async fn run(
        setup: &DispatcherSetup,
        mailbox: DispatcherMailbox,
        survivors: &mut Survivors,
        running: &mut Option<Self>,
    ) -> Option<Resting> {
        let task = Self::start(setup, mailbox, survivors).await?;
        let task = running.insert(task);
        let end = task.go().await;
        let end = task.look_for_topic(end).await;
        task.finish(end).await
    }

    async fn go(&mut self) -> End {
        loop {
            if *self.phase.borrow_and_update() == BusPhase::Stopped {
                break End::Stopped;
            }
            if let Some(end) = self.hear_those_who_leave().await {
                break end;
            }
            let now = self.now();
            self.let_time_pass(now);
            self.look_after_seats(now);
            self.follow_head();
            self.reads.elapse(now);
            self.settlement.retry.elapse(now);
            self.filtering.iter_mut().for_each(|filtering| filtering.elapse(now));
            let pace = self.hand_out().await;
            self.release_room();
            self.tell_what_is_drained();
            if self.machine.has_dead() || !self.letters.is_idle() {
                self.write_letters().await;
            }
            // Before any request is answered.
            self.in_flight.tell(self.machine.in_flight());
            self.start_settlement();
            self.end_set_aside().await;
            if self.is_idle() && self.group.retire(&self.cursor.log, &mut self.requests) == Retired::Yes {
                break End::Retired;
            }
            if let Some(end) = self.rest() {
                break end;
            }
            if let Some(end) = self.wait(pace).await {
                break end;
            }
        }
    }

    /// What a subscriber settled before it left counts: it is in the mailbox already, and would be too
    /// late once its leases are given back. So those who ended are noted first, then the mailbox is
    /// emptied, and only those who were noted are let go. One that ends meanwhile wakes us again.
    async fn hear_those_who_leave(&mut self) -> Option<End> {
        let mut leaving = false;
        for seat in &mut self.seats {
            seat.leaving = seat.outlet.is_ended();
            leaving |= seat.leaving;
        }
        if !leaving {
            return None;
        }
        for _ in 0..MAILBOX {
            let Ok(request) = self.requests.try_recv() else {
                break;
            };
            self.inbox.push(request);
        }
        self.take_requests().await
    }

    /// Waits for the next input and takes it in.
    async fn wait(&mut self, pace: Pace) -> Option<End> {
        self.arm_timer();
        let has_room = self.settlement.has_room();
        tokio::select! {
            biased;
            result = self.settlement.done() => return self.settled(result),
            result = self.letters.done(), if self.letters.is_under_way() => return self.letters_done(result),
            judged = Filtering::done(&mut self.filtering), if self.filtering.is_some() => self.judged(judged),
            () = self.wake.notified() => self.take_in_joiners(),
            _ = self.phase.changed() => {}
            _ = self.requests.recv_many(&mut self.inbox, REQUESTS_AT_ONCE), if has_room => {
                return self.take_requests().await;
            }
            moved = self.head.changed() => {
                if moved.is_err() {
                    return Some(End::Failed(|_| Error::Closed));
                }
            }
            () = &mut self.timer, if self.armed.is_some() => {
                self.armed = None;
                self.rest.timer_went_off();
            }
            () = tokio::task::yield_now(), if pace == Pace::Busy => {}
        }
        None
    }

    fn now(&self) -> Duration {
        self.core.clock.monotonic()
    }

    /// No subscribers, and all state is durable or can be read again.
    fn is_idle(&self) -> bool {
        self.seats.is_empty() && self.untold_gaps.is_empty() && self.settlement.is_idle() && self.letters.is_idle()
    }

    /// Sets the timer to the next deadline, or to when it may rest. It is only ever moved forward in time to an
    /// earlier moment: waking too early costs a look, moving it at every lease costs more.
    fn arm_timer(&mut self) {
        let suspended = self.filtering.as_ref().and_then(Filtering::not_before);
        let retries = [self.settlement.retry.not_before, self.reads.not_before, suspended];
        let deadlines = retries.into_iter().chain([self.machine.next_deadline()]);
        let next = match deadlines.flatten().min() {
            Some(next) => next,
            None if self.may_ever_rest() && self.rest.arm() => self.now().saturating_add(REST_AFTER),
            None => return,
        };
        if self.armed.is_none_or(|armed| next < armed) {
            let wait = next.saturating_sub(self.now());
            self.timer.as_mut().reset(Instant::now() + wait);
            self.armed = Some(next);
        }
    }

    /// Makes durable what can be and tells all callers.
    async fn finish(&mut self, end: End) -> Option<Resting> {
        let log = self.cursor.log.clone();
        let now = self.now();
        let mut left: Vec<Arc<Outlet>> = Vec::new();
        match end {
            End::Retired => {}
            End::Rests => return Some(self.resting()),
            End::Stopped => {
                self.leave_all(now);
                self.flush().await;
                left = self.group.remove(&log);
                left.iter().for_each(|outlet| outlet.end());
            }
            End::Failed(error) => {
                if let Some(ownership) = &self.core.ownership {
                    ownership.doubt(&self.cursor.group);
                }
                left = self.group.remove(&log);
                let seated = self.seats.iter().map(|seat| &seat.outlet);
                seated.chain(&left).for_each(|outlet| outlet.fail(error(&self.cursor)));
            }
            End::Deleted(reply) => {
                self.finish_commits().await;
                left = self.group.remove(&log);
                let unknown = || Error::UnknownGroup { group: self.cursor.group.clone() };
                let seated = self.seats.iter().map(|seat| &seat.outlet);
                seated.chain(&left).for_each(|outlet| outlet.fail(unknown()));
                let _caller_left = reply.send(());
            }
            End::TopicGone(reply) => {
                self.end_with_topic().await;
                if let Some(reply) = reply {
                    let _caller_left = reply.send(());
                }
            }
        }
        let seated = self.seats.drain(..).map(|seat| seat.outlet);
        seated.chain(left).for_each(|outlet| outlet.detach(&log, &self.wake));
        self.settlement.give_up(|| Error::fenced(&self.cursor));
        self.requests.close();
        while let Some(request) = self.requests.recv().await {
            request.refuse(&self.cursor);
        }
        None
    }
}

impl Retry {
    fn failed(&mut self, now: Duration) -> Duration {
        self.failed_between(now, FIRST_RETRY, LONGEST_RETRY)
    }

    fn failed_between(&mut self, now: Duration, first: Duration, longest: Duration) -> Duration {
        let wait = first.saturating_mul(1 << self.failures.min(16)).min(longest);
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(now.saturating_add(wait));
        wait
    }

    fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// The wait is over once its time has come, so that no timer is set for it again.
    fn elapse(&mut self, now: Duration) {
        self.not_before = self.not_before.filter(|&not_before| not_before > now);
    }

    fn must_wait(&self) -> bool {
        self.not_before.is_some()
    }
}
