//! Running a dispatcher: it rests, works, and rests again.
//!
//! A dispatcher that panicked is built anew from its cursor. What it had leased is void: it comes again, and an ack of it
//! hears why. Its subscribers stay; those whose partitions have owners are told that these went and came back.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use prom_store::CursorState;
use tokio::time::sleep;

use super::rest::Resting;
use super::seats::SubscriberSeat;
use super::start::Newest;
use super::{DispatchRequest, DispatchTask, DispatcherMailbox, DispatcherSetup, LaneOrder};
use crate::Error;
use crate::bus::BusPhase;
use crate::limits::MAILBOX;
use crate::outlet::Outlet;
use crate::supervise::{TaskName, TaskPanicked};

/// What outlives a failure, or a rest.
#[derive(Default)]
pub(super) struct Survivors {
    /// Where it rested.
    cursor: Option<(CursorState, Newest)>,
    /// Subscribers that take any event.
    outlets: Vec<Arc<Outlet>>,
    /// Owners of lanes, with the epoch of each.
    lanes: Vec<(u32, u64, Arc<Outlet>)>,
    /// Taken from the mailbox while nothing ran.
    inbox: Vec<DispatchRequest>,
}

/// Runs a dispatcher to its end.
#[allow(clippy::manual_async_fn, reason = "an `async fn` would hold its argument twice")]
pub(crate) fn run(setup: DispatcherSetup) -> impl Future<Output = ()> {
    async move {
        // What it needs to look and to work is on the heap: while it rests, a task is as large as what it holds.
        let mut resting = Box::pin(Resting::new(&setup)).await;
        while let Some(mailbox) = resting.wait(&setup).await {
            match Box::pin(work(&setup, mailbox, std::mem::take(&mut resting))).await {
                Some(rests) => resting = rests,
                None => return,
            }
        }
    }
}

/// Dispatches, through its failures. `None` unless it rests now.
async fn work(setup: &DispatcherSetup, mut mailbox: DispatcherMailbox, mut resting: Resting) -> Option<Resting> {
    let task = TaskName::dispatcher(&setup.cursor);
    let failures = setup.core.failures.clone();
    let mut survivors =
        Survivors { cursor: resting.take_cursor(), outlets: resting.outlets.into_vec(), ..Survivors::default() };
    loop {
        let mut running = None;
        let work = DispatchTask::run(setup, mailbox, &mut survivors, &mut running);
        let panicked = match failures.watch(&task, work).await {
            Ok(ended) => return ended,
            Err(panicked) => panicked,
        };
        if let Some(failed) = running {
            survivors.rescue(failed);
        }
        // In the old mailbox may be acks of leases that are void, and their numbers are given out again.
        match setup.group.renew_mailbox(&setup.cursor.log) {
            Some(renewed) => mailbox = renewed,
            None => {
                setup.give_up(&mut survivors, || Error::Closed);
                return None;
            }
        }
        if survivors.wait(setup, &mut mailbox, &panicked).await == BusPhase::Stopped {
            setup.give_up(&mut survivors, || Error::Closed);
            return None;
        }
    }
}

impl Survivors {
    /// Takes the subscribers over and ends everything that was leased to them.
    fn rescue(&mut self, mut failed: DispatchTask) {
        if let Some(port) = &failed.origin.port {
            port.failed.store(true, Ordering::Relaxed);
        }
        let log = failed.cursor.log.clone();
        let seats = std::mem::take(&mut failed.seats);
        let owned = failed.partitioned.as_ref().map(|partitioned| partitioned.owners(&seats, &log, &failed.origin));
        for SubscriberSeat { outlet, held, .. } in seats {
            outlet.forget(&failed.origin);
            outlet.give_back(&failed.wake, held);
            let has_lane = |lanes: &Vec<(u32, u64, Arc<Outlet>)>| lanes.iter().any(|(.., owner)| owner.id == outlet.id);
            match &owned {
                None => self.outlets.push(outlet),
                Some(lanes) if has_lane(lanes) => {}
                Some(_) => outlet.detach(&log, &failed.wake),
            }
        }
        self.lanes = owned.unwrap_or_default();
    }

    /// Waits until it may start again. Those who leave meanwhile are let go; who asks something waits with us, except
    /// for those who ask how it is.
    async fn wait(
        &mut self,
        setup: &DispatcherSetup,
        mailbox: &mut DispatcherMailbox,
        panicked: &TaskPanicked,
    ) -> BusPhase {
        let mut phase = setup.core.watch_phase();
        let over = sleep(panicked.wait);
        tokio::pin!(over);
        loop {
            self.let_go_of_the_ended(setup);
            if *phase.borrow_and_update() == BusPhase::Stopped {
                return BusPhase::Stopped;
            }
            let has_room = self.inbox.len() < MAILBOX;
            tokio::select! {
                () = &mut over => return BusPhase::Open,
                () = setup.wake.notified() => {}
                _ = phase.changed() => {}
                Some(request) = mailbox.requests.recv(), if has_room => match request {
                    DispatchRequest::Status(_) => {}
                    other => self.inbox.push(other),
                }
            }
        }
    }

    fn let_go_of_the_ended(&mut self, setup: &DispatcherSetup) {
        let owners = self.lanes.extract_if(.., |(.., outlet)| outlet.is_ended()).map(|(.., outlet)| outlet);
        let ended = self.outlets.extract_if(.., |outlet| outlet.is_ended());
        owners.chain(ended).for_each(|outlet| outlet.detach(&setup.cursor.log, &setup.wake));
    }

    /// Where the group stands, if that is known without asking the store.
    pub fn take_cursor(&mut self) -> Option<(CursorState, Newest)> {
        self.cursor.take()
    }

    pub fn take_outlets(&mut self) -> impl Iterator<Item = Arc<Outlet>> {
        self.outlets.drain(..).chain(self.lanes.drain(..).map(|(.., outlet)| outlet))
    }
}

impl DispatchTask {
    /// Those who were there before it failed.
    pub(super) fn take_in_survivors(&mut self, survivors: &mut Survivors) {
        self.inbox.append(&mut survivors.inbox);
        for outlet in survivors.outlets.drain(..) {
            self.seat(outlet);
        }
        // One that rested may still be among those that wait for room.
        self.seats.iter_mut().for_each(|seat| seat.waits_for_room = true);
        for (lane, epoch, outlet) in survivors.lanes.drain(..) {
            self.obey(LaneOrder::Assign { lane, outlet, epoch });
        }
    }
}
