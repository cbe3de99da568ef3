//! One rule of a policy, as written in a token. An unknown field is an error: a misspelled `groups` would otherwise turn
//! a rule for one group into a rule for all.

use std::borrow::Cow;

use prom_types::{GroupName, Invalid, TopicPattern};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Action, Actions};

/// Allows or denies actions on topics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub effect: Effect,
    pub action: Actions,
    /// At least one.
    pub topics: Vec<TopicPattern>,
    /// Only for callers that act in one of these groups. `None`: for all callers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<GroupMatch>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    Allow,
    Deny,
}

/// A group by name, all whose names begin alike (`"billing-*"`), or any group: `"*"`. A caller without a group is in
/// none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupMatch {
    Any,
    /// Without the star.
    BeginningWith(GroupName),
    Named(GroupName),
}

impl Rule {
    /// Whether the rule applies to this action, in this group or outside any.
    pub(super) fn concerns(&self, action: Action, group: Option<&GroupName>) -> bool {
        let in_group = match (&self.groups, group) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(groups), Some(group)) => groups.iter().any(|candidate| candidate.takes_in(group)),
        };
        in_group && self.action.contains(action)
    }

    /// Whether it is for this group by name, not for any.
    pub(super) fn names(&self, group: &GroupName) -> bool {
        let named = |candidate: &GroupMatch| *candidate != GroupMatch::Any && candidate.takes_in(group);
        self.groups.iter().flatten().any(named)
    }

    /// A rule that can never match is a mistake.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.topics.is_empty() {
            return Err("its `topics` are empty; name at least one pattern, ** for every topic");
        }
        if self.groups.as_ref().is_some_and(Vec::is_empty) {
            return Err("its `groups` are empty; name at least one, or leave `groups` out for all callers");
        }
        if self.groups.is_some() && self.action == Action::Publish.into() {
            return Err("it has `groups`, but publishing has no group; leave `groups` out");
        }
        Ok(())
    }
}

impl GroupMatch {
    /// Reads a name, the beginning of one with a star behind it, or the star alone.
    pub(super) fn parse(text: &str) -> Result<Self, Invalid> {
        match text.strip_suffix('*') {
            Some("") => Ok(Self::Any),
            Some(beginning) => GroupName::parse(beginning).map(Self::BeginningWith),
            None => GroupName::parse(text).map(Self::Named),
        }
    }

    fn takes_in(&self, group: &GroupName) -> bool {
        match self {
            Self::Any => true,
            Self::BeginningWith(beginning) => group.starts_with(beginning.as_str()),
            Self::Named(name) => name == group,
        }
    }
}

impl Serialize for GroupMatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Any => serializer.serialize_str("*"),
            Self::BeginningWith(beginning) => serializer.collect_str(&format_args!("{beginning}*")),
            Self::Named(name) => name.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for GroupMatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).map_err(D::Error::custom)
    }
}
