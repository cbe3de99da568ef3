//! `topic-unmentioned`: a topic of the live hub that no code mentions.

use prom_types::TopicName;

use super::version_suffix::split_version;
use super::{Asked, LintRuleText, RuleContext, RuleId, Sample};
use crate::finding::SourcePlace;
use crate::record::Span;
use crate::settings::Severity;

pub const TEXT: LintRuleText = LintRuleText {
    id: "topic-unmentioned",
    title: "No code mentions a topic of the hub",
    explanation: "The hub has a topic that no call of this project publishes to or subscribes to. It may be left \
        over, or belong to another project: then allow it. The hub's own topics, dual-write copies and snapshots do \
        not count. Checked if the whole project is linted.",
    bad: Sample {
        language: "text",
        code: "topics of the hub: orders.placed, orders.old\ntopics in the code: orders.placed",
    },
    good: Sample { language: "toml", code: "[lint]\nallow = { topic-unmentioned = [\"billing.**\"] }" },
    fix: "delete the topic (`prom topics delete`), or allow it in `[lint]`",
    severity: Severity::Warn,
    is_fixable: false,
    asked: Asked::WithHub,
};

pub fn check(context: &RuleContext<'_>) {
    let Some(hub) = context.hub.filter(|_| context.is_whole_project) else { return };
    for name in &hub.topics {
        let is_reserved = TopicName::parse(name).is_ok_and(|topic| topic.is_reserved());
        let base = name.strip_suffix(".snapshot").or_else(|| split_version(name).map(|(base, _)| base));
        let belongs_to_another = base.is_some_and(|base| hub.topics.contains(base));
        if is_reserved
            || belongs_to_another
            || context.is_mentioned(name)
            || context.is_allowed(RuleId::TopicUnmentioned, name)
        {
            continue;
        }
        let path = context.settings.config_file.clone().unwrap_or_else(|| context.settings.root.clone());
        let place = SourcePlace { path, span: Span::default() };
        let message = format!("the hub at {} has the topic {name:?}, which no code mentions", hub.address);
        context.report(RuleId::TopicUnmentioned, place, message, TEXT.fix);
    }
}
