//! Where one subscription of a group is served from moment to moment: by this hub, through another one,
//! or nowhere while it moves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use prom_engine::SubscriptionControl;
use prom_protocol::frame::assignment::Assignment;
use prom_types::TopicName;
use tokio::sync::watch;

use super::inflight::Inflight;
use super::relay::RelayLink;

/// Shared by the connection, whose frames go to that place, and the task that keeps the subscription in one.
pub struct MemberSeat {
    state: Mutex<SeatState>,
    /// True once the subscription is over.
    ended: watch::Sender<bool>,
}

struct SeatState {
    place: SeatLocation,
    wishes: SeatWishes,
    /// Partitions that the client was told are its own, where it asked to be told.
    assigned: BTreeMap<TopicName, BTreeSet<u32>>,
}

/// What the client asked for since it subscribed; holds wherever it is served next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SeatWishes {
    pub is_paused: bool,
    /// Where it differs from that of the SUBSCRIBE.
    pub max_in_flight: Option<usize>,
}

#[derive(Clone)]
pub enum SeatLocation {
    Here(Local),
    There(Arc<RelayLink>),
    /// Nothing is leased meanwhile.
    Moving,
}

/// A subscription at the bus of this hub.
#[derive(Clone)]
pub struct Local {
    pub control: SubscriptionControl,
    pub inflight: Arc<Mutex<Inflight>>,
}

impl MemberSeat {
    pub fn new() -> Arc<Self> {
        let state = SeatState { place: SeatLocation::Moving, wishes: SeatWishes::default(), assigned: BTreeMap::new() };
        Arc::new(Self { state: Mutex::new(state), ended: watch::Sender::new(false) })
    }

    /// Served there from now on.
    pub fn take(&self, place: SeatLocation) {
        let mut state = self.state.lock();
        state.place = place;
        if *self.ended.borrow() {
            state.place.end();
        }
        if state.wishes.is_paused
            && let SeatLocation::Here(local) = &state.place
        {
            local.control.pause();
        }
    }

    pub fn wishes(&self) -> SeatWishes {
        self.state.lock().wishes
    }

    pub fn here(&self) -> Option<Local> {
        match &self.state.lock().place {
            SeatLocation::Here(local) => Some(local.clone()),
            SeatLocation::There(_) | SeatLocation::Moving => None,
        }
    }

    pub fn there(&self) -> Option<Arc<RelayLink>> {
        match &self.state.lock().place {
            SeatLocation::There(link) => Some(link.clone()),
            SeatLocation::Here(_) | SeatLocation::Moving => None,
        }
    }

    pub fn pause(&self) {
        let mut state = self.state.lock();
        state.wishes.is_paused = true;
        if let SeatLocation::Here(local) = &state.place {
            local.control.pause();
        }
    }

    /// Delivers again, with this window if one is given.
    pub fn resume(&self, max_in_flight: Option<usize>) -> Result<(), prom_engine::Error> {
        let mut state = self.state.lock();
        if let SeatLocation::Here(local) = &state.place {
            if let Some(events) = max_in_flight {
                local.control.set_max_in_flight(events)?;
                local.inflight.lock().set_window(events);
            }
            local.control.resume();
        }
        state.wishes = SeatWishes { is_paused: false, max_in_flight: max_in_flight.or(state.wishes.max_in_flight) };
        Ok(())
    }

    /// The client was told that these are its own.
    pub fn note_assigned(&self, told: &Assignment) {
        let mut state = self.state.lock();
        state.assigned.entry(told.event_topic.clone()).or_default().extend(&told.partitions);
    }

    pub fn note_revoked(&self, told: &Assignment) {
        let mut state = self.state.lock();
        if let Some(mine) = state.assigned.get_mut(&told.event_topic) {
            mine.retain(|partition| !told.partitions.contains(partition));
        }
    }

    /// What the client still takes for its own, and has to hear is not.
    pub fn take_assigned(&self) -> Vec<Assignment> {
        let assigned = std::mem::take(&mut self.state.lock().assigned);
        let told = assigned.into_iter().filter(|(_, partitions)| !partitions.is_empty());
        told.map(|(event_topic, mine)| Assignment { event_topic, partitions: mine.into_iter().collect() }).collect()
    }

    /// Nothing more comes, and leases go back.
    pub fn end(&self) {
        let state = self.state.lock();
        self.ended.send_replace(true);
        state.place.end();
    }

    pub fn is_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Ready when it is over.
    pub async fn ended(&self) {
        let mut ended = self.ended.subscribe();
        // The sender lives as long as the seat.
        drop(ended.wait_for(|ended| *ended).await);
    }
}

impl SeatLocation {
    fn end(&self) {
        if let Self::Here(local) = self {
            local.control.end();
        }
    }
}
