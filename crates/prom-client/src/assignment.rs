//! Partitions that come and go: what a member is told, and through which callback.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use prom_protocol::frame::assignment::Assignment;
use prom_types::TopicName;

use crate::limits::ASSIGNMENT_CHANGES;

/// Partitions of a topic that this member got, or has to let go of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssignmentChange {
    /// Their events come from now on.
    Assigned(Assignment),
    /// No more of their events come. What is in hand can still be settled for a short while; then the
    /// hub hands it to the next owner, and settling it is refused. Also when the connection is lost.
    Revoked(Assignment),
}

type Callback = Arc<dyn Fn(&Assignment) + Send + Sync>;

/// Who hears of it.
#[derive(Clone, Default)]
pub(crate) struct AssignmentListener {
    pub on_assigned: Option<Callback>,
    pub on_revoked: Option<Callback>,
    pub items: AssignmentItems,
}

/// Whether changes come among the deliveries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum AssignmentItems {
    #[default]
    No,
    Yes,
}

/// What a member has, and what it was not told yet.
#[derive(Default)]
pub(crate) struct Assignments {
    owned: BTreeSet<(TopicName, u32)>,
    untold: VecDeque<AssignmentChange>,
}

impl AssignmentListener {
    pub fn wants_any(&self) -> bool {
        self.on_assigned.is_some() || self.on_revoked.is_some() || self.items == AssignmentItems::Yes
    }

    /// Called without any lock held.
    pub fn call(&self, change: &AssignmentChange) {
        let (callback, assignment) = match change {
            AssignmentChange::Assigned(assignment) => (&self.on_assigned, assignment),
            AssignmentChange::Revoked(assignment) => (&self.on_revoked, assignment),
        };
        if let Some(callback) = callback {
            callback(assignment);
        }
    }
}

impl Assignments {
    pub fn note(&mut self, change: AssignmentChange, items: AssignmentItems) {
        let places = |assignment: &Assignment| {
            let topic = assignment.event_topic.clone();
            assignment.partitions.clone().into_iter().map(move |partition| (topic.clone(), partition))
        };
        match &change {
            AssignmentChange::Assigned(assignment) => self.owned.extend(places(assignment)),
            AssignmentChange::Revoked(assignment) => places(assignment).for_each(|place| {
                self.owned.remove(&place);
            }),
        }
        if items == AssignmentItems::Yes {
            if self.untold.len() >= ASSIGNMENT_CHANGES {
                self.untold.pop_front();
            }
            self.untold.push_back(change);
        }
    }

    pub fn take(&mut self) -> Option<AssignmentChange> {
        self.untold.pop_front()
    }

    /// The connection is gone, and every partition with it.
    pub fn all_lost(&mut self, items: AssignmentItems) -> Vec<AssignmentChange> {
        let mut by_topic: BTreeMap<TopicName, Vec<u32>> = BTreeMap::new();
        for (topic, partition) in std::mem::take(&mut self.owned) {
            by_topic.entry(topic).or_default().push(partition);
        }
        let lost = |(event_topic, partitions)| AssignmentChange::Revoked(Assignment { event_topic, partitions });
        let changes: Vec<AssignmentChange> = by_topic.into_iter().map(lost).collect();
        changes.iter().for_each(|change| self.note(change.clone(), items));
        changes
    }
}
