//! Which partitions came and went since the subscriber last looked. Bounded by the partitions there are:
//! what came and went unseen is not told.

use std::collections::BTreeMap;

use prom_types::TopicName;

/// Partitions of a topic that a subscriber got, or has to let go of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssignmentChange {
    /// Their events come from now on.
    Assigned {
        /// Of this topic.
        topic: TopicName,
        /// These partitions.
        partitions: Vec<u32>,
    },
    /// No more of their events come; what it holds it may still settle, for a short while.
    Revoked {
        /// Of this topic.
        topic: TopicName,
        /// These partitions.
        partitions: Vec<u32>,
    },
}

#[derive(Debug, Default)]
pub(super) struct Assignments(BTreeMap<(TopicName, u32), Pending>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pending {
    Assigned,
    Revoked,
    RevokedThenAssigned,
}

impl Assignments {
    pub fn assigned(&mut self, topic: &TopicName, partition: u32) {
        let place = (topic.clone(), partition);
        let next = match self.0.get(&place) {
            Some(Pending::Revoked | Pending::RevokedThenAssigned) => Pending::RevokedThenAssigned,
            Some(Pending::Assigned) | None => Pending::Assigned,
        };
        self.0.insert(place, next);
    }

    pub fn revoked(&mut self, topic: &TopicName, partition: u32) {
        let place = (topic.clone(), partition);
        match self.0.get(&place) {
            // It never heard that it had it.
            Some(Pending::Assigned) => {
                self.0.remove(&place);
            }
            _ => {
                self.0.insert(place, Pending::Revoked);
            }
        }
    }

    /// Everything, what was revoked first; one word for each topic.
    pub fn take(&mut self) -> Vec<AssignmentChange> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let (mut revoked, mut assigned): (BTreeMap<TopicName, Vec<u32>>, BTreeMap<TopicName, Vec<u32>>) =
            Default::default();
        for ((topic, partition), pending) in std::mem::take(&mut self.0) {
            if pending != Pending::Assigned {
                revoked.entry(topic.clone()).or_default().push(partition);
            }
            if pending != Pending::Revoked {
                assigned.entry(topic).or_default().push(partition);
            }
        }
        let revoked = revoked.into_iter().map(|(topic, partitions)| AssignmentChange::Revoked { topic, partitions });
        let assigned = assigned.into_iter().map(|(topic, partitions)| AssignmentChange::Assigned { topic, partitions });
        revoked.chain(assigned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_and_went_unseen_is_not_told_and_what_came_back_is_told_as_both() {
        let topic = TopicName::parse("orders").unwrap();
        let mut assignments = Assignments::default();
        for partition in [1, 2] {
            assignments.assigned(&topic, partition);
        }
        assignments.revoked(&topic, 2);
        let assigned = |partitions: &[u32]| AssignmentChange::Assigned {
            topic: TopicName::parse("orders").unwrap(),
            partitions: partitions.to_vec(),
        };
        assert_eq!(assignments.take(), [assigned(&[1])]);
        assignments.revoked(&topic, 1);
        assignments.assigned(&topic, 1);
        assignments.assigned(&topic, 3);
        let revoked = AssignmentChange::Revoked { topic, partitions: vec![1] };
        assert_eq!(assignments.take(), [revoked, assigned(&[1, 3])]);
        assert_eq!(assignments.take(), []);
    }
}
