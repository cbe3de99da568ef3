//! `dlq-direct-publish`: publishing where only the hub writes.

use super::{Asked, LintRuleText, RuleContext, RuleId, Sample, SiteFacts};
use crate::settings::Severity;

pub const TEXT: LintRuleText = LintRuleText {
    id: "dlq-direct-publish",
    title: "Code publishes to one of the hub's own topics",
    explanation: "Only the hub writes topics that begin with `dlq.` or `system.`; it refuses such a publish. An \
        event reaches the dead letters by failing as often as its group allows.",
    bad: Sample { language: "ts", code: "await client.publish(\"dlq.orders.placed\", { order, reason });" },
    good: Sample {
        language: "ts",
        code: "await delivery.nack(reason);   // after the last attempt it is a dead letter",
    },
    fix: "nack the delivery, or publish to your own topic",
    severity: Severity::Error,
    is_fixable: false,
    asked: Asked::Always,
};

pub fn check(context: &RuleContext<'_>, site: &SiteFacts) {
    if !site.publishes() {
        return;
    }
    for (text, argument) in site.all_topics() {
        let begins = |prefix: &str| text.parts[0].as_ref().is_some_and(|part| part.starts_with(prefix));
        let shown = text.shown();
        if !(begins("dlq.") || begins("system.")) || context.is_allowed(RuleId::DlqDirectPublish, &shown) {
            continue;
        }
        let message = format!("{shown:?} belongs to the hub: clients read it, but do not publish there");
        context.report_text(RuleId::DlqDirectPublish, site, (text, argument), message, TEXT.fix, None);
    }
}
