//! Who takes part: joining, pausing, resuming, and the window room that ended leases give back.

use std::time::Duration;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::Dispatcher;

/// Chosen by the caller; unique among the subscribers of a dispatcher.
pub type SubscriberId = u64;

#[derive(Debug)]
pub(super) struct Subscriber {
    pub ack_timeout: Duration,
    flow: Flow,
    /// Leases that ended since the caller last asked.
    released: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Running,
    Paused,
}

#[derive(Debug, Default)]
pub(super) struct Subscribers {
    by_id: HashMap<SubscriberId, Subscriber, FixedState>,
    running: usize,
    /// Those with something in `released`, in the order in which it began.
    with_released: Vec<SubscriberId>,
}

impl Subscribers {
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn knows(&self, id: SubscriberId) -> bool {
        self.by_id.contains_key(&id)
    }

    /// How many are not paused.
    pub fn running(&self) -> usize {
        self.running
    }

    /// The subscriber if events may be handed to it now.
    pub fn running_one(&self, id: SubscriberId) -> Option<&Subscriber> {
        self.by_id.get(&id).filter(|subscriber| subscriber.flow == Flow::Running)
    }

    /// One lease of this subscriber has ended.
    pub fn release(&mut self, id: SubscriberId) {
        let Some(subscriber) = self.by_id.get_mut(&id) else {
            return;
        };
        if subscriber.released == 0 {
            self.with_released.push(id);
        }
        subscriber.released += 1;
    }

    pub fn remove(&mut self, id: SubscriberId) {
        self.set_flow(id, Flow::Paused);
        self.by_id.remove(&id);
        self.with_released.retain(|&other| other != id);
    }

    fn set_flow(&mut self, id: SubscriberId, flow: Flow) {
        let Some(subscriber) = self.by_id.get_mut(&id) else {
            return;
        };
        match (subscriber.flow, flow) {
            (Flow::Paused, Flow::Running) => self.running += 1,
            (Flow::Running, Flow::Paused) => self.running -= 1,
            _ => {}
        }
        subscriber.flow = flow;
    }
}

impl Dispatcher {
    /// Takes part from now on. Joining again only changes the timeout of future leases.
    pub fn join(&mut self, subscriber: SubscriberId, ack_timeout: Duration) {
        let everyone = &mut self.subscribers;
        if let Some(known) = everyone.by_id.get_mut(&subscriber) {
            known.ack_timeout = ack_timeout;
            return;
        }
        let joined = Subscriber { ack_timeout, flow: Flow::Running, released: 0 };
        everyone.by_id.insert(subscriber, joined);
        everyone.running += 1;
    }

    /// Nothing more is handed to this subscriber; what it holds stays its own.
    pub fn pause(&mut self, subscriber: SubscriberId) {
        self.subscribers.set_flow(subscriber, Flow::Paused);
    }

    /// Leases events to the subscriber again.
    pub fn resume(&mut self, subscriber: SubscriberId) {
        self.subscribers.set_flow(subscriber, Flow::Running);
    }

    /// Appends how many leases of each subscriber ended since the last call, however they ended:
    /// so much room its window has again. Those who left are not mentioned.
    pub fn released(&mut self, out: &mut Vec<(SubscriberId, usize)>) {
        let everyone = &mut self.subscribers;
        for id in everyone.with_released.drain(..) {
            if let Some(subscriber) = everyone.by_id.get_mut(&id) {
                out.push((id, std::mem::take(&mut subscriber.released)));
            }
        }
    }
}
