//! Where the coordinator of a group in a topic is met: those who join and partitions that were finished
//! wait here for its task, and what it decided last is shown here.
//!
//! It outlives the task, which runs only while there are members; so epochs and generations go on.

use std::sync::Arc;

use parking_lot::Mutex;
use prom_types::TopicName;
use tokio::sync::Notify;

use super::task::{self, CoordinatorSetup};
use super::{Coordination, PartitionOwners};
use crate::bus::Core;
use crate::group::{Group, GroupOptions, Layout, Retired};
use crate::outlet::Outlet;

/// One per group and topic that is divided.
pub(crate) struct Desk {
    pub topic: TopicName,
    /// For the task: there is something to look at.
    pub wake: Arc<Notify>,
    inbox: Mutex<Inbox>,
    shown: Mutex<Shown>,
}

#[derive(Default)]
struct Inbox {
    is_running: bool,
    /// Its topic is gone.
    is_over: bool,
    arrivals: DeskNews,
}

/// What came since the task last looked. Bounded by the members and the partitions.
#[derive(Default)]
pub(super) struct DeskNews {
    pub joining: Vec<Arc<Outlet>>,
    /// Partitions that their owners finished, with the epoch of those.
    pub drained: Vec<(u32, u64)>,
}

#[derive(Default)]
struct Shown {
    state: Coordination,
    layout: Option<Layout>,
    meta: Vec<(String, String)>,
}

impl Desk {
    pub fn new(topic: TopicName) -> Self {
        Self { topic, wake: Arc::default(), inbox: Mutex::default(), shown: Mutex::default() }
    }

    /// A subscriber takes part, once; called again, the task looks whether the topic has grown.
    pub fn join(
        self: &Arc<Self>,
        core: &Arc<Core>,
        group: &Arc<Group>,
        options: &Arc<GroupOptions>,
        outlet: &Arc<Outlet>,
    ) {
        let mut inbox = self.inbox.lock();
        if outlet.follow(&self.topic, &self.wake) {
            inbox.arrivals.joining.push(outlet.clone());
            if !inbox.is_running {
                inbox.is_running = true;
                let setup = CoordinatorSetup {
                    core: core.clone(),
                    group: group.clone(),
                    options: options.clone(),
                    desk: self.clone(),
                };
                tokio::spawn(task::run(setup));
            }
        }
        drop(inbox);
        self.wake.notify_one();
    }

    /// The topic is gone: so is its coordinator.
    pub fn end(&self) {
        let mut inbox = self.inbox.lock();
        inbox.is_over = true;
        for outlet in std::mem::take(&mut inbox.arrivals).joining {
            outlet.unfollow(&self.topic);
        }
        drop(inbox);
        self.wake.notify_one();
    }

    pub(super) fn is_over(&self) -> bool {
        self.inbox.lock().is_over
    }

    /// The dispatcher of a partition has nothing out any more with the owner of this epoch.
    pub fn drained(&self, partition: u32, epoch: u64) {
        self.inbox.lock().arrivals.drained.push((partition, epoch));
        self.wake.notify_one();
    }

    pub(super) fn take_arrivals(&self) -> DeskNews {
        std::mem::take(&mut self.inbox.lock().arrivals)
    }

    /// The task may end, unless a subscriber is about to join.
    pub(super) fn retire(&self) -> Retired {
        let mut inbox = self.inbox.lock();
        if inbox.arrivals.joining.is_empty() {
            inbox.is_running = false;
            Retired::Yes
        } else {
            Retired::No
        }
    }

    /// The task failed: the next to join starts another. Returns those who were about to join.
    pub(super) fn give_up(&self) -> Vec<Arc<Outlet>> {
        let mut inbox = self.inbox.lock();
        inbox.is_running = false;
        std::mem::take(&mut inbox.arrivals).joining
    }

    pub(super) fn show(&self, state: &Coordination, layout: Layout, meta: Vec<(String, String)>) {
        *self.shown.lock() = Shown { state: state.clone(), layout: Some(layout), meta };
    }

    /// What was decided last.
    pub(super) fn state(&self) -> Coordination {
        self.shown.lock().state.clone()
    }

    /// Who owns what; `None` before the first member joined.
    pub fn owners(&self) -> Option<PartitionOwners> {
        let shown = self.shown.lock();
        let is_virtual = matches!(shown.layout?, Layout::Virtual(_));
        let meta_of = |name: &str| shown.meta.iter().find(|(member, _)| member == name).map(|(_, meta)| meta.clone());
        Some(PartitionOwners::new(&shown.state, is_virtual, meta_of))
    }
}
