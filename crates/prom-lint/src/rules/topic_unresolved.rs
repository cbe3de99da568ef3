//! `topic-unresolved`: a topic that cannot be found out without running the code.

use super::{Asked, LintRuleText, RuleContext, RuleId, Sample, SiteFacts};
use crate::settings::Severity;

pub const TEXT: LintRuleText = LintRuleText {
    id: "topic-unresolved",
    title: "A topic cannot be resolved from the code",
    explanation: "The topic comes from a parameter, from input or from a computation, so no rule about topics can \
        check this call. Off by default; switch it on if every topic should be known.",
    bad: Sample { language: "ts", code: "const topic = process.env.TOPIC;\nawait client.publish(topic, order);" },
    good: Sample {
        language: "ts",
        code: "export const Topics = { placed: \"orders.placed\" } as const;\nawait client.publish(Topics.placed, order);",
    },
    fix: "use a constant, an enum or an object of topics; declare a function that takes the topic as a wrapper in `[lint]`",
    severity: Severity::Off,
    is_fixable: false,
    asked: Asked::Always,
};

pub fn check(context: &RuleContext<'_>, site: &SiteFacts) {
    if !context.is_on(RuleId::TopicUnresolved) {
        return;
    }
    for (texts, span) in site.topics.iter().zip(&site.topic_spans) {
        let is_partly = texts.known.iter().find(|text| text.whole().is_none());
        let message = match is_partly {
            Some(text) => format!("of the topic only {:?} is known", text.shown()),
            None if texts.has_unknown => "the topic cannot be found out".to_owned(),
            None => continue,
        };
        context.report(RuleId::TopicUnresolved, site.place(*span), message, TEXT.fix);
    }
}
