//! What a new version of a schema must keep to.

use std::fmt;
use std::str::FromStr;

/// Which versions accept the documents of which others. The forms without `transitive` look at the last version only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Compat {
    None,
    /// What was valid under the previous version is valid under the new one: new readers read old data.
    #[default]
    Backward,
    /// What is valid under the new version is valid under the previous one: old readers read new data.
    Forward,
    /// Both.
    Full,
    BackwardTransitive,
    ForwardTransitive,
    FullTransitive,
    /// Not compared: upcasters lead from each earlier version to the new one.
    Upcast,
}

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

/// A word that names no compatibility.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "`{0}` is no compatibility: use none, backward, forward, full, one of the last three with _transitive, or upcast"
)]
pub struct UnknownCompat(pub String);

impl Compat {
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::Backward,
        Self::Forward,
        Self::Full,
        Self::BackwardTransitive,
        Self::ForwardTransitive,
        Self::FullTransitive,
        Self::Upcast,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Backward => "backward",
            Self::Forward => "forward",
            Self::Full => "full",
            Self::BackwardTransitive => "backward_transitive",
            Self::ForwardTransitive => "forward_transitive",
            Self::FullTransitive => "full_transitive",
            Self::Upcast => "upcast",
        }
    }

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

impl fmt::Display for Compat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Compat {
    type Err = UnknownCompat;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|compat| compat.as_str() == word);
        known.ok_or_else(|| UnknownCompat(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_read_as_it_is_written() {
        for compat in Compat::ALL {
            assert_eq!(compat.to_string().parse(), Ok(compat));
        }
        assert_eq!("BACKWARD".parse::<Compat>(), Err(UnknownCompat("BACKWARD".into())));
    }
}
