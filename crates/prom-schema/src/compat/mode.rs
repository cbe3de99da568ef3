//! What a compatibility demands of a new version.

use crate::Compat;

/// Whether earlier documents, later ones or both must stay readable, and how far back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Demand {
    pub backward: bool,
    pub forward: bool,
    pub reach: VersionReach,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VersionReach {
    Last,
    All,
}

impl Compat {
    pub(super) fn demand(self) -> Demand {
        let (backward, forward, reach) = match self {
            Self::None | Self::Upcast => (false, false, VersionReach::Last),
            Self::Backward => (true, false, VersionReach::Last),
            Self::Forward => (false, true, VersionReach::Last),
            Self::Full => (true, true, VersionReach::Last),
            Self::BackwardTransitive => (true, false, VersionReach::All),
            Self::ForwardTransitive => (false, true, VersionReach::All),
            Self::FullTransitive => (true, true, VersionReach::All),
        };
        Demand { backward, forward, reach }
    }
}
