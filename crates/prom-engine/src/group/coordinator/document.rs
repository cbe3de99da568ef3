//! What was decided, as plain data: members, owners, epochs, generation.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The state of a group in a topic. Everything that others have to agree on is in here; deadlines are
/// not, because every clock has its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coordination {
    /// Raised by every change of members or partitions.
    pub generation: u64,
    pub members: BTreeMap<String, CoordinatedMember>,
    pub partitions: Vec<Partition>,
}

/// A member, by its own name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoordinatedMember {
    /// Its share in relation to the others.
    pub weight: u32,
    /// Partitions that go to it first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<u32>,
    /// How long it may be silent; `None` for one that cannot fall silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

/// One partition: who has it, who is to have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// Of the last owner; the next one gets a higher one.
    pub epoch: u64,
    pub holding: Holding,
    /// Who is to own it; `None` while there are no members.
    pub target: Option<String>,
}

/// In whose hands a partition is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Holding {
    #[default]
    #[serde(rename = "nobody")]
    Unowned,
    Owner(String),
    /// It gets nothing more, and finishes what it holds.
    Stopping(String),
}

impl Partition {
    /// Who has it, also while finishing.
    pub fn holder(&self) -> Option<&str> {
        match &self.holding {
            Holding::Unowned => None,
            Holding::Owner(member) | Holding::Stopping(member) => Some(member),
        }
    }
}
