//! Scopes: `action:pattern`, the short form of a rule that allows.

use prom_types::TopicPattern;

use super::{Effect, Rule};
use crate::error::excerpt;
use crate::{Actions, PolicyError};

pub(super) fn parse(scope: &str) -> Result<Rule, PolicyError> {
    let (action, pattern) = scope.split_once(':').unwrap_or((scope, "**"));
    let invalid = |reason: String| PolicyError::Scope { scope: excerpt(scope), reason };
    Ok(Rule {
        effect: Effect::Allow,
        action: Actions::parse(action).map_err(|error| invalid(error.to_string()))?,
        topics: vec![TopicPattern::parse(pattern).map_err(|error| invalid(error.to_string()))?],
        groups: None,
    })
}
