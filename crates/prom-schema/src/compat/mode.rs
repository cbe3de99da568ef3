//! What a compatibility demands of a new version.

use crate::Compat;

/// Whether earlier documents, later ones or both must stay readable, and how far back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Demand {
    pub backward: bool,
    pub forward: bool,
    pub reach: Reach,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Last,
    All,
}

impl Compat {
    pub(super) fn demand(self) -> Demand {
        let (backward, forward, reach) = match self {
            Self::None | Self::Upcast => (false, false, Reach::Last),
            Self::Backward => (true, false, Reach::Last),
            Self::Forward => (false, true, Reach::Last),
            Self::Full => (true, true, Reach::Last),
            Self::BackwardTransitive => (true, false, Reach::All),
            Self::ForwardTransitive => (false, true, Reach::All),
            Self::FullTransitive => (true, true, Reach::All),
        };
        Demand { backward, forward, reach }
    }
}
