//! Everything about one outlet that its lock guards.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use hashbrown::HashMap;
use prom_store::LogName;
use prom_types::{EpochMs, TopicName};
use tokio::sync::Notify;

use super::assignments::Assignments;
use super::queue::DeliveryQueue;
use crate::deliver::Ticket;
use crate::dispatch::DispatcherWake;
use crate::turns::Turns;
use crate::{Error, Gap};

pub(super) struct OutletState {
    /// How many it may have leased at once.
    pub max_in_flight: usize,
    /// Leased and not ended.
    pub in_flight: usize,
    pub queue: DeliveryQueue,
    /// The wall clock when the monotonic one stood at zero, as of the last hand-over: so that taking
    /// does not have to read it.
    pub wall_origin_ms: EpochMs,
    /// What lay in the queue was withdrawn, and the application has not asked for more since.
    pub full: bool,
    /// Leased, and taken out of the queue again: no handler has seen them.
    pub unseen: Vec<Ticket>,
    /// Taken by the application after a wait, with the deadline that counts from then.
    pub taken_late: Vec<(Ticket, Duration)>,
    /// Dispatchers that found too little room, in the order in which they get some.
    pub waiting_for_room: Turns,
    /// All dispatchers by log; `None` for one that let go.
    pub dispatchers: HashMap<LogName, Option<Arc<DispatcherWake>>>,
    /// Those that did not let go.
    pub attached: usize,
    /// The topics whose coordinators know it, with their wakes.
    pub coordinators: Vec<(TopicName, Arc<Notify>)>,
    pub assignments: Assignments,
    pub gaps: VecDeque<Gap>,
    pub failure: Option<Error>,
}

impl OutletState {
    pub fn new(max_in_flight: usize, queue: DeliveryQueue) -> Self {
        Self {
            max_in_flight,
            in_flight: 0,
            queue,
            wall_origin_ms: 0,
            full: false,
            unseen: Vec::new(),
            taken_late: Vec::new(),
            waiting_for_room: Turns::default(),
            dispatchers: HashMap::new(),
            attached: 0,
            coordinators: Vec::new(),
            assignments: Assignments::default(),
            gaps: VecDeque::new(),
            failure: None,
        }
    }

    pub fn wall_ms(&self, now: Duration) -> EpochMs {
        let since_origin = EpochMs::try_from(now.as_millis()).unwrap_or(EpochMs::MAX);
        self.wall_origin_ms.saturating_add(since_origin)
    }
}
