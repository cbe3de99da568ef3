//! `topic-unserved`: a topic in the code that the live hub does not have.

use prom_types::{TopicName, TopicPattern};

use super::{Asked, LintRuleText, RuleContext, RuleId, Sample, SiteFacts};
use crate::settings::Severity;

pub const TEXT: LintRuleText = LintRuleText {
    id: "topic-unserved",
    title: "The hub has no such topic",
    explanation: "The code publishes to a topic, or subscribes to one, that the hub does not have; for a pattern, \
        no topic matches. The name may be misspelt, or the code uses another hub. A topic that the first publish \
        creates is reported until it exists.",
    bad: Sample { language: "ts", code: "await client.subscribe(\"orders.placd\", \"billing\", handle);" },
    good: Sample { language: "ts", code: "await client.subscribe(\"orders.placed\", \"billing\", handle);" },
    fix: "correct the name, create the topic (`[[topic]]` in the hub's `prom.toml`), or allow it in `[lint]`",
    severity: Severity::Warn,
    is_fixable: false,
    asked: Asked::WithHub,
};

pub fn check(context: &RuleContext<'_>, site: &SiteFacts) {
    let Some(hub) = context.hub.filter(|_| context.is_on(RuleId::TopicUnserved)) else { return };
    for topic in site.known_topics() {
        let name = topic.name.as_str();
        let is_there = match TopicName::parse(name) {
            // Dead letters come with the first letter.
            Ok(topic) => topic.is_reserved() || hub.topics.contains(name),
            Err(_) => {
                TopicPattern::parse(name).map_or(true, |pattern| hub.topics.iter().any(|topic| pattern.matches(topic)))
            }
        };
        if is_there || context.is_allowed(RuleId::TopicUnserved, name) {
            continue;
        }
        let hidden = if hub.is_partial { ", as far as the token may see" } else { "" };
        let message = format!("the hub at {} has no topic {name:?}{hidden}", hub.address);
        context.report_text(RuleId::TopicUnserved, site, (topic.text, topic.argument), message, TEXT.fix, None);
    }
}
