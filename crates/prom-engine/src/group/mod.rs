//! Groups: what they agreed on, where it is kept, and the dispatchers that run for them.

pub(crate) mod assignment;
mod census;
mod change;
pub(crate) mod coordinator;
mod document;
mod expire;
mod list;
mod options;
mod overlap;
mod position;
mod registry;

pub(crate) use census::GroupCensus;
pub use change::{Expiry, GroupChange};
pub use coordinator::{MemberStatus, PartitionOwner, PartitionOwners};
pub(crate) use document::{Agreed, GroupDocument, read_group};
pub(crate) use expire::expire;
pub use list::{GroupInfo, GroupSubscription};
pub(crate) use options::Layout;
pub(crate) use options::RequestedOptions;
pub use options::{GroupOptions, OptionDifference};
pub(crate) use registry::{Group, LooksUp, Retired, RunningGroups};

/// Where groups are kept, one document per group.
pub(crate) const COLLECTION: &str = "groups";
