//! A policy answers whether a caller may do something to a topic, or to everything that a pattern can match.
//!
//! Promises: a matching deny beats every allow, in any order; what no allow matches is denied. For a pattern, "matches"
//! means that one allow's pattern covers every name that the requested pattern can match, and that no deny's pattern
//! shares a name with it.

mod cover;
mod overlap;
mod rule;
mod scope;
mod shape;

use prom_types::{GroupName, TopicName, TopicPattern};

use crate::{Action, PolicyError};
use cover::covers;
use overlap::overlaps;
pub use rule::{Effect, GroupMatch, Rule};

/// Checked rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy(Rights);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rights {
    /// Everything, including the hub's own topics.
    Open,
    ByRule(Vec<Rule>),
}

impl Policy {
    /// Every right to every topic.
    pub fn open() -> Self {
        Self(Rights::Open)
    }

    /// No right to anything.
    pub fn none() -> Self {
        Self(Rights::ByRule(Vec::new()))
    }

    /// Whether there is nothing that it does not allow.
    pub fn is_open(&self) -> bool {
        self.0 == Rights::Open
    }

    /// Each is `action:pattern` or `action:pattern@groups`. Without a pattern the scope covers every topic that `**`
    /// matches, and `*` alone the hub's own topics too.
    pub fn from_scopes<S: AsRef<str>>(scopes: &[S]) -> Result<Self, PolicyError> {
        let rules: Result<Vec<Rule>, PolicyError> = scopes.iter().map(|scope| scope::parse(scope.as_ref())).collect();
        Ok(Self(Rights::ByRule(rules?)))
    }

    pub fn from_rules(rules: Vec<Rule>) -> Result<Self, PolicyError> {
        for (index, rule) in rules.iter().enumerate() {
            rule.check().map_err(|reason| PolicyError::Rule { rule: index + 1, reason })?;
        }
        Ok(Self(Rights::ByRule(rules)))
    }

    /// Outside any group: rules with `groups` do not match.
    pub fn allows(&self, action: Action, topic: &TopicName) -> bool {
        self.allows_topic(action, topic, None)
    }

    /// In this group: a rule with `groups` matches only if it names this one.
    pub fn allows_in_group(&self, action: Action, topic: &TopicName, group: &GroupName) -> bool {
        self.allows_topic(action, topic, Some(group))
    }

    /// Whether everything the pattern can match is allowed and no deny overlaps it. Without a group, rules with `groups` do
    /// not match.
    pub fn allows_pattern(&self, action: Action, pattern: &TopicPattern, group: Option<&GroupName>) -> bool {
        let takes_in = |rule: &Rule| rule.topics.iter().any(|allowed| covers(allowed, pattern));
        let meets = |rule: &Rule| rule.topics.iter().any(|denied| overlaps(denied, pattern));
        self.decide(action, group, takes_in, meets)
    }

    /// As [`Policy::allows_pattern`], by rules alone that name this group, or how its name begins.
    pub fn allows_pattern_by_name(&self, action: Action, pattern: &TopicPattern, group: &GroupName) -> bool {
        let takes_in = |rule: &Rule| rule.names(group) && rule.topics.iter().any(|allowed| covers(allowed, pattern));
        let meets = |rule: &Rule| rule.topics.iter().any(|denied| overlaps(denied, pattern));
        self.decide(action, Some(group), takes_in, meets)
    }

    /// Hub-wide views and changes: as for the pattern `**`, outside any group.
    pub fn allows_everywhere(&self, action: Action) -> bool {
        TopicPattern::parse("**").is_ok_and(|everything| self.allows_pattern(action, &everything, None))
    }

    /// Whether some rule allows the action anywhere. Denies are not weighed: this only tells callers apart that need not
    /// be listened to at all.
    pub fn allows_somewhere(&self, action: Action) -> bool {
        match &self.0 {
            Rights::Open => true,
            Rights::ByRule(rules) => {
                rules.iter().any(|rule| rule.effect == Effect::Allow && rule.action.contains(action))
            }
        }
    }

    fn allows_topic(&self, action: Action, topic: &TopicName, group: Option<&GroupName>) -> bool {
        let matches = |rule: &Rule| rule.topics.iter().any(|pattern| pattern.matches(topic));
        self.decide(action, group, matches, matches)
    }

    fn decide(
        &self,
        action: Action,
        group: Option<&GroupName>,
        takes_in: impl Fn(&Rule) -> bool,
        meets: impl Fn(&Rule) -> bool,
    ) -> bool {
        let rules = match &self.0 {
            Rights::Open => return true,
            Rights::ByRule(rules) => rules,
        };
        let concerned = || rules.iter().filter(|rule| rule.concerns(action, group));
        let denied = concerned().any(|rule| rule.effect == Effect::Deny && meets(rule));
        !denied && concerned().any(|rule| rule.effect == Effect::Allow && takes_in(rule))
    }
}
