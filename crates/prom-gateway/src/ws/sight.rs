//! What a subscriber sees of events that have hidden parts: all of it, or what the masks of their topics leave.
//!
//! Without a group, everything is for those who administer all that is subscribed to. In a group it is also for tokens that name the
//! group: those are consumers, which cannot do their work on a part of an event.

use prom_auth::{Action, Policy};
use prom_engine::administered_with;
use prom_types::{GroupName, TopicPattern};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    Whole,
    Masked,
}

impl Sight {
    pub fn of(policy: &Policy, patterns: &[TopicPattern], group: Option<&GroupName>) -> Self {
        let sees_whole = |pattern: &TopicPattern| administers(policy, pattern) || is_consumer(policy, pattern, group);
        if patterns.iter().all(sees_whole) { Self::Whole } else { Self::Masked }
    }
}

fn is_consumer(policy: &Policy, pattern: &TopicPattern, group: Option<&GroupName>) -> bool {
    group.is_some_and(|group| policy.allows_pattern_by_name(Action::Subscribe, pattern, group))
}

fn administers(policy: &Policy, pattern: &TopicPattern) -> bool {
    if let Some(topic) = pattern.as_topic() {
        return administered_with(&topic).iter().all(|topic| policy.allows(Action::Admin, topic));
    }
    // Letters belong to those who administer the topics that they are of.
    let of = pattern.as_str().strip_prefix("dlq.").and_then(|rest| TopicPattern::parse(rest).ok());
    let mut rest = of.as_ref().unwrap_or(pattern).as_str();
    // What it matches may be a copy: `orders.*` is also `orders.v2`, which has its events from `orders`.
    loop {
        let allows = |pattern: TopicPattern| policy.allows_pattern(Action::Admin, &pattern, None);
        if !TopicPattern::parse(rest).is_ok_and(allows) {
            return false;
        }
        match rest.rsplit_once('.') {
            Some((base, last)) if may_be_copy(last) => rest = base,
            _ => return true,
        }
    }
}

/// Whether a name that ends so may be that of a topic which has its events from the one before it.
fn may_be_copy(last: &str) -> bool {
    let is_version = |number: &str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    matches!(last, "*" | "**" | "snapshot") || last.strip_prefix('v').is_some_and(is_version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(scopes: &[&str], pattern: &str, group: Option<&str>) -> Sight {
        let policy = Policy::from_scopes(scopes).unwrap();
        let group = group.map(|group| GroupName::parse(group).unwrap());
        Sight::of(&policy, &[TopicPattern::parse(pattern).unwrap()], group.as_ref())
    }

    #[test]
    fn administrators_and_named_consumers_see_everything() {
        for (scopes, pattern, group, expected) in [
            (&["subscribe"][..], "orders", None, Sight::Masked),
            (&["subscribe", "admin:orders"], "orders", None, Sight::Whole),
            (&["subscribe", "admin:orders"], "dlq.orders", None, Sight::Whole),
            (&["subscribe", "admin:orders"], "orders.v2", None, Sight::Masked),
            (&["subscribe", "admin:orders.**"], "orders.v2", None, Sight::Whole),
            (&["subscribe", "admin:orders.v2"], "orders.v2", None, Sight::Masked),
            (&["subscribe", "admin:orders.*"], "orders.*", None, Sight::Masked),
            (&["subscribe", "admin:orders.*", "admin:orders"], "orders.*", None, Sight::Whole),
            (&["subscribe", "admin:orders.*.*", "admin:orders.*"], "orders.*.*", None, Sight::Masked),
            (&["subscribe", "admin:*.v2"], "*.v2", None, Sight::Masked),
            (&["subscribe", "admin:orders.*.v2"], "orders.*.v2", None, Sight::Masked),
            (&["subscribe", "admin:orders.*.placed"], "orders.*.placed", None, Sight::Whole),
            (&["subscribe", "admin:orders.*"], "dlq.orders.*", None, Sight::Masked),
            (&["subscribe", "admin:orders.**"], "orders.**", None, Sight::Whole),
            (&["subscribe", "admin:orders.**"], "orders.**.v2", Some("g"), Sight::Whole),
            (&["subscribe", "admin:orders"], "**", None, Sight::Masked),
            (&["subscribe", "admin"], "**", None, Sight::Whole),
            (&["subscribe", "admin"], "dlq.**", None, Sight::Whole),
            (&["subscribe:orders@billing"], "orders", Some("billing"), Sight::Whole),
            (&["subscribe:orders@bill*"], "orders", Some("billing"), Sight::Whole),
            (&["subscribe:orders@*"], "orders", Some("billing"), Sight::Masked),
            (&["subscribe:orders"], "orders", Some("billing"), Sight::Masked),
            (&["subscribe:orders@billing"], "orders", None, Sight::Masked),
        ] {
            assert_eq!(sight(scopes, pattern, group), expected, "{scopes:?} on {pattern} in {group:?}");
        }
    }
}
