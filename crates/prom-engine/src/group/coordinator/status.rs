//! Who owns what, as people and programs are told.

use crate::group::coordinator::{Coordination, Holding};

/// The owners of a topic's partitions in a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionOwners {
    /// Counts changes of members and partitions since the hub started.
    pub generation: u64,
    /// By name.
    pub members: Vec<MemberStatus>,
    /// By number.
    pub partitions: Vec<PartitionOwner>,
    /// The group divides a topic of one partition into these.
    pub virtual_partitions: bool,
}

/// A member and what it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberStatus {
    /// Its name.
    pub member: String,
    /// Its share in relation to others.
    pub weight: u32,
    /// Partitions that go to it first.
    pub pins: Vec<u32>,
    /// How long it may be silent.
    pub ttl_ms: Option<u64>,
    /// What it said about itself: JSON text.
    pub meta: Option<String>,
    /// What it owns.
    pub partitions: Vec<u32>,
}

/// A partition and who has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionOwner {
    /// The partition.
    pub partition: u32,
    /// Raised by every change of the owner.
    pub epoch: u64,
    /// The member that has it.
    pub owner: Option<String>,
    /// The owner gets nothing more, finishes what it holds, and then this one follows.
    pub moving_to: Option<String>,
}

impl PartitionOwners {
    pub(crate) fn new(state: &Coordination, virtual_partitions: bool, meta: impl Fn(&str) -> Option<String>) -> Self {
        let partition = |(at, partition): (usize, &super::Partition)| PartitionOwner {
            partition: u32::try_from(at).unwrap_or(u32::MAX),
            epoch: partition.epoch,
            owner: partition.holder().map(str::to_owned),
            moving_to: match partition.holding {
                Holding::Stopping(_) => partition.target.clone(),
                _ => None,
            },
        };
        let partitions: Vec<PartitionOwner> = state.partitions.iter().enumerate().map(partition).collect();
        let owned = |name: &str| {
            let of_member = partitions.iter().filter(|one| one.owner.as_deref() == Some(name));
            of_member.map(|one| one.partition).collect()
        };
        let member = |(name, member): (&String, &super::CoordinatedMember)| MemberStatus {
            member: name.clone(),
            weight: member.weight,
            pins: member.pins.clone(),
            ttl_ms: member.ttl_ms,
            meta: meta(name),
            partitions: owned(name),
        };
        Self {
            generation: state.generation,
            members: state.members.iter().map(member).collect(),
            partitions,
            virtual_partitions,
        }
    }
}
