//! The window of a subscriber: how much may be leased to it, and who gets room when some is free.

use super::Outlet;
use super::state::OutletState;

impl Outlet {
    /// Changes the window. Where it shrinks, what is leased stays, and nothing more comes until there is room.
    pub fn set_max_in_flight(&self, events: usize) {
        let mut state = self.state.lock();
        state.max_in_flight = events;
        self.feed(&mut state);
    }

    pub(super) fn room(&self, state: &OutletState) -> usize {
        if !self.has_room(state) {
            return 0;
        }
        state.max_in_flight.saturating_sub(state.in_flight).min(state.queue.fitting())
    }

    /// Whether [`Outlet::room`] is more than none; cheaper than counting it.
    fn has_room(&self, state: &OutletState) -> bool {
        !state.full && state.in_flight < state.max_in_flight && state.queue.fits_one()
    }

    /// Wakes the first dispatcher that waits for room, if there is some.
    pub(super) fn feed(&self, state: &mut OutletState) {
        if self.has_room(state)
            && let Some(first) = state.waiting_for_room.first()
        {
            first.notify_one();
        }
    }
}
