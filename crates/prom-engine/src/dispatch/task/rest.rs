//! A dispatcher with nothing to do rests: what is left of it is a position, its subscribers, and a task that waits.
//!
//! ```text
//!   new ──▶ rests ──event, request, room──▶ works ──nothing to do for a while──▶ rests
//!             └──no subscriber──▶ ends
//! ```
//!
//! It has nothing to do where everything in its log is settled, and where none of its subscribers has room for more.
//!
//! A group that reads ten thousand quiet topics has ten thousand dispatchers, so one that rests has no machine, no mailbox,
//! no meter and no timer. It keeps the epoch that it took the cursor under, so that waking writes nothing. One that never
//! worked has not taken the cursor yet.
//!
//! Promises: it rests only where nothing is leased, all that is settled lies before the floor and is durable, nobody has one of
//! its deliveries, and nobody is about to ask it something. The last is decided under the lock of its group. While it waits
//! for room it keeps its place among the dispatchers that do.

use std::sync::Arc;

use prom_store::{CursorState, HeadWatch};
use prom_types::Offset;
use smallvec::SmallVec;

use super::start::Newest;
use super::{DispatchTask, DispatcherMailbox, DispatcherSetup, End};
use crate::bus::BusPhase;
use crate::group::{LooksUp, Retired};
use crate::outlet::Outlet;
use crate::set_aside::{GATES, gate_key};
use crate::supervise::TaskName;
use crate::{Error, Mode};

/// The subscribers of one dispatcher; most have one.
pub(crate) type Outlets = SmallVec<[Arc<Outlet>; 1]>;

/// What a dispatcher is while it rests.
#[derive(Default)]
pub(super) struct Resting {
    pub outlets: Outlets,
    floor: Offset,
    until: RestUntil,
    /// Whether something is set aside beside the log.
    has_set_aside: bool,
    /// `None` before it first worked, and after a failure.
    taken: Option<TakenCursor>,
}

/// What a dispatcher that rests waits for, besides being asked.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum RestUntil {
    /// The log goes on beyond the floor.
    #[default]
    Event,
    /// A subscriber has room for what is in the log, or another one joins.
    Room,
}

/// A cursor that this process took over.
struct TakenCursor {
    epoch: u64,
    newest: Newest,
}

/// When a dispatcher that works looks whether it may rest.
#[derive(Debug, Default)]
pub(super) struct RestWatch {
    /// The timer is set so that it looks.
    armed: bool,
    /// The timer went off.
    due: bool,
    /// How far the log had been read at the last look.
    read_to: Option<Offset>,
}

impl RestWatch {
    /// True once between two looks: then the timer has to be set.
    pub fn arm(&mut self) -> bool {
        !std::mem::replace(&mut self.armed, true)
    }

    pub fn timer_went_off(&mut self) {
        *self = Self { armed: false, due: true, read_to: self.read_to };
    }

    /// Whether a look is due and nothing came since the last one.
    fn is_quiet(&mut self, read_to: Offset) -> bool {
        std::mem::take(&mut self.due) && self.read_to.replace(read_to) == Some(read_to)
    }
}

impl Resting {
    /// A new dispatcher begins by looking where the group stands. What cannot be read now is read when the cursor is taken.
    pub async fn new(setup: &DispatcherSetup) -> Self {
        let mut resting = Self::default();
        if setup.options.mode == Mode::Shared {
            let task = TaskName::dispatcher(&setup.cursor);
            let look = setup.core.failures.watch(&task, setup.core.store.cursor(&setup.cursor));
            if let Ok(Ok(Some(cursor))) = look.await {
                resting.floor = cursor.floor;
            }
            let name = gate_key(&setup.cursor);
            let look = setup.core.failures.watch(&task, setup.core.store.document(GATES, &name));
            resting.has_set_aside = matches!(look.await, Ok(Ok(Some(_))));
        }
        resting
    }

    /// Waits for something to do. `None` when the dispatcher has ended.
    pub async fn wait(&mut self, setup: &DispatcherSetup) -> Option<DispatcherMailbox> {
        let log = &setup.cursor.log;
        let mut head = setup.core.store.watch(log);
        loop {
            match setup.group.look_up(log, &setup.wake, &mut self.outlets) {
                LooksUp::Asked => break,
                LooksUp::NotNeeded => {
                    self.outlets.drain(..).for_each(|outlet| outlet.detach(log, &setup.wake));
                    return None;
                }
                // Partitions get their owners by requests.
                LooksUp::Rests if setup.options.mode == Mode::Shared && self.has_something_to_do(&mut head) => break,
                LooksUp::Rests => {}
            }
            tokio::select! {
                // One that waits for room looks for it once it is woken.
                () = setup.wake.notified() => self.until = RestUntil::Event,
                moved = head.changed() => if moved.is_err() {
                    self.give_up(setup);
                    return None;
                }
            }
        }
        setup.group.open_mailbox(log, &setup.wake)
    }

    fn has_something_to_do(&self, head: &mut HeadWatch) -> bool {
        let next = head.bounds().next;
        self.has_set_aside || (self.until == RestUntil::Event && next > self.floor)
    }

    /// Where the group stands, if the cursor was taken: everything before the floor is settled, and nothing beyond.
    pub fn take_cursor(&mut self) -> Option<(CursorState, Newest)> {
        let TakenCursor { epoch, newest } = self.taken.take()?;
        Some((CursorState { epoch, ..CursorState::at(self.floor) }, newest))
    }

    /// The store is closed.
    fn give_up(&mut self, setup: &DispatcherSetup) {
        let log = &setup.cursor.log;
        for outlet in self.outlets.drain(..).chain(setup.group.remove(log)) {
            outlet.fail(Error::Closed);
            outlet.detach(log, &setup.wake);
        }
    }
}

impl DispatchTask {
    /// Ends as [`End::Rests`] if it had nothing to do since it last looked.
    pub(super) fn rest(&mut self) -> Option<End> {
        if !self.rest.is_quiet(self.machine.floor()) || !self.has_nothing_to_do() {
            return None;
        }
        match self.group.rest(&self.cursor.log, &mut self.requests) {
            Retired::Yes => Some(End::Rests),
            Retired::No => None,
        }
    }

    /// Dispatchers of partitions with owners keep their lanes, and never rest.
    pub(super) fn may_ever_rest(&self) -> bool {
        self.partitioned.is_none()
    }

    fn has_nothing_to_do(&self) -> bool {
        let filter_rests = || self.filtering.as_ref().is_none_or(|filtering| !filtering.is_busy());
        self.may_ever_rest()
            && *self.phase.borrow() == BusPhase::Open
            && self.machine.is_at_rest()
            && (self.machine.has_settled_all() || self.seats.iter().all(|seat| seat.waits_for_room || seat.paused))
            && self.settlement.is_idle()
            && self.letters.is_idle()
            && self.set_aside.is_none()
            && filter_rests()
            // A delivery is the way back to this mailbox.
            && Arc::strong_count(&self.origin) == 1
    }

    pub(super) fn resting(&mut self) -> Resting {
        let newest = Newest { options: self.options.clone(), revision: self.options_revision };
        Resting {
            outlets: self.seats.drain(..).map(|seat| seat.outlet).collect(),
            floor: self.machine.floor(),
            until: if self.machine.has_settled_all() { RestUntil::Event } else { RestUntil::Room },
            has_set_aside: false,
            taken: Some(TakenCursor { epoch: self.epoch, newest }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::restart;

    fn size_of_future<A, F: Future>(_: impl Fn(A) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_task_of_a_dispatcher_that_rests_is_small() {
        let bytes = size_of_future(restart::run);
        assert!(bytes <= 400, "{bytes} bytes, for every topic and group");
    }
}
