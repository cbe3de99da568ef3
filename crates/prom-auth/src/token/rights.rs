//! From claims to a policy: `policy` first, then `scopes`, then `scope`; without any of them there are no rights. Rights
//! that cannot be understood refuse the token: half of the rules is not what their author meant.

use serde::Deserialize;
use serde_json::Value;

use super::Claims;
use crate::{Actions, AuthError, Policy, PolicyError, Rule};

pub fn policy(claims: &Claims) -> Result<Policy, AuthError> {
    let policy = match claims {
        Claims { policy: Some(policy), .. } => from_policy(policy),
        Claims { scopes: Some(scopes), .. } => texts("scopes", scopes).and_then(|scopes| Policy::from_scopes(&scopes)),
        Claims { scope: Some(scope), .. } => {
            texts("scope", scope).and_then(|scopes| Policy::from_scopes(&ours(scopes)))
        }
        _ => Ok(Policy::none()),
    };
    policy.map_err(|error| AuthError::invalid(error.to_string()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    rules: Vec<Rule>,
}

/// `{"rules": […]}` or the list itself.
fn from_policy(policy: &Value) -> Result<Policy, PolicyError> {
    let rules = match policy {
        Value::Array(_) => Vec::<Rule>::deserialize(policy),
        _ => Document::deserialize(policy).map(|document| document.rules),
    };
    Policy::from_rules(rules.map_err(|error| PolicyError::PatternShape { reason: error.to_string() })?)
}

/// A list of strings, or one string with spaces.
fn texts<'c>(claim: &'static str, value: &'c Value) -> Result<Vec<&'c str>, PolicyError> {
    let found = match value {
        Value::String(text) => Some(text.split_ascii_whitespace().collect()),
        Value::Array(items) => items.iter().map(Value::as_str).collect(),
        _ => None,
    };
    found.ok_or(PolicyError::Claim { claim })
}

/// `scope` is shared with others: issuers put `openid` and `profile` there. An entry that does not begin with one of our
/// actions is not meant for us, and grants nothing.
fn ours(scopes: Vec<&str>) -> Vec<&str> {
    let is_ours = |scope: &&str| Actions::parse(scope.split([':', '@']).next().unwrap_or_default()).is_ok();
    scopes.into_iter().filter(is_ours).collect()
}
