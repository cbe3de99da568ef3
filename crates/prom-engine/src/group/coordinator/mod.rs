//! Who owns which partition of a topic in a group, from moment to moment.
//!
//! ```text
//!   join, leave ─┐                      ┌─▶ Stop:  no more leases, it finishes what it holds
//!   heartbeat ───┼─▶ the coordinator ───┼─▶ Fence: what it still holds is taken back
//!   drained ─────┤                      ├─▶ Start: the next owner, under a higher epoch
//!   time ────────┘                      └─▶ Expired: a member fell silent
//! ```
//!
//! [`Coordinator`] is a plain state machine: inputs go in, outputs come out, time is handed in, and
//! what it decides on is one plain [`Coordination`] that can be written as a document. Only `task`
//! around it meets dispatchers, subscribers and the clock.
//!
//! Promises: at any moment a partition has at most one owner, and each owner has its own epoch; a
//! partition whose owner does not change is told nothing; the next owner starts only after the one
//! before has finished, or what it held was taken back; while there are members, every partition gets
//! an owner.

mod desk;
mod document;
mod machine;
mod status;
pub(crate) mod task;

#[cfg(test)]
mod model;

pub(crate) use desk::Desk;
pub use document::{CoordinatedMember, Coordination, Holding, Partition};
pub use machine::{Coordinator, CoordinatorOutput};
pub use status::{MemberStatus, PartitionOwner, PartitionOwners};
