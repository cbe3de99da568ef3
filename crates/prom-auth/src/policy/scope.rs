//! Scopes: `action:pattern` or `action:pattern@groups`, the short form of a rule that allows.

use prom_types::TopicPattern;

use super::{Effect, GroupMatch, Rule};
use crate::error::excerpt;
use crate::{Actions, PolicyError};

/// What a scope without a pattern is for.
const EVERYTHING: &str = "**";
/// No leading wildcard matches the hub's own topics. The scope `*` is for all topics, these included.
const OF_THE_HUB: [&str; 2] = ["dlq.**", "system.**"];

pub(super) fn parse(scope: &str) -> Result<Rule, PolicyError> {
    let invalid = |reason: String| PolicyError::Scope { scope: excerpt(scope), reason };
    let (topics, group) = match scope.split_once('@') {
        Some((topics, group)) => (topics, Some(group)),
        None => (scope, None),
    };
    let (action, patterns) = match topics.split_once(':') {
        Some((action, pattern)) => (action, vec![pattern]),
        None if topics == "*" => (topics, [&[EVERYTHING][..], &OF_THE_HUB].concat()),
        None => (topics, vec![EVERYTHING]),
    };
    let topics: Result<Vec<_>, _> = patterns.into_iter().map(TopicPattern::parse).collect();
    let groups = group.map(|group| GroupMatch::parse(group).map(|group| vec![group])).transpose();
    let rule = Rule {
        effect: Effect::Allow,
        action: Actions::parse(action).map_err(|error| invalid(error.to_string()))?,
        topics: topics.map_err(|error| invalid(error.to_string()))?,
        groups: groups.map_err(|error| invalid(error.to_string()))?,
    };
    rule.check().map_err(|reason| invalid(reason.to_owned()))?;
    Ok(rule)
}
