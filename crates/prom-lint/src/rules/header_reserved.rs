//! `header-reserved`: a header that hub and feeds write.

use super::{Asked, LintRuleText, RuleContext, RuleId, Sample, SiteFacts};
use crate::settings::Severity;

/// Written by the hub, by change feeds and by the exchange of CloudEvents; `x-schema-version` is the publisher's to name.
const RESERVED: [&str; 5] = ["x-upcasted-from", "x-upcast-error", "x-mongo-op", "x-change-cluster-time", "x-document"];
const PREFIXES: [&str; 2] = ["x-prom-", "x-ce-"];

pub const TEXT: LintRuleText = LintRuleText {
    id: "header-reserved",
    title: "Code sets a header that the hub writes",
    explanation: "Readers trust `x-upcasted-from`, `x-upcast-error`, `x-mongo-op`, `x-change-cluster-time`, \
        `x-document`, and headers that begin with `x-prom-` or `x-ce-`, because the hub writes them. A publisher \
        that sets one misleads consumers. You may set `x-schema-version`: it names the version that validates the \
        payload.",
    bad: Sample {
        language: "ts",
        code: "await client.publish(\"orders.placed\", order, { headers: { \"x-upcasted-from\": \"1\" } });",
    },
    good: Sample {
        language: "ts",
        code: "await client.publish(\"orders.placed\", order, { headers: { \"x-schema-version\": \"1\" } });",
    },
    fix: "choose another name for the header",
    severity: Severity::Error,
    is_fixable: false,
    asked: Asked::Always,
};

pub fn check(context: &RuleContext<'_>, site: &SiteFacts) {
    for header in &site.headers {
        let Some(name) = header.whole() else { continue };
        let is_reserved = RESERVED.contains(&name.as_str()) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        if is_reserved && !context.is_allowed(RuleId::HeaderReserved, &name) {
            let message = format!("header {name:?} is written by the hub");
            context.report_text(
                RuleId::HeaderReserved,
                site,
                (header, site.header_argument(header)),
                message,
                TEXT.fix,
                None,
            );
        }
    }
}
