//! `ignore-unused`: a `prom-ignore` that ignores nothing, or does not say why.

use super::{Asked, LintRuleText, RuleId, Sample};
use crate::finding::{Edit, Finding, SourcePlace};
use crate::settings::Severity;

pub const TEXT: LintRuleText = LintRuleText {
    id: "ignore-unused",
    title: "A `prom-ignore` has no effect",
    explanation: "`prom-ignore rule: reason` applies to its own line, or, if it stands alone, to the next line of code and \
        the call that starts there; `prom-ignore-file` applies to the file. A comment that suppresses nothing is \
        left over from a fixed problem, names an unknown rule, or gives no reason.",
    bad: Sample {
        language: "ts",
        code: "// prom-ignore topic-name: kept for the old readers\nawait client.publish(\"orders.placed\", order);",
    },
    good: Sample { language: "ts", code: "await client.publish(\"orders.placed\", order);" },
    fix: "remove the comment, or name rule and reason: `prom-ignore topic-name: kept for the old readers`",
    severity: Severity::Warn,
    is_fixable: true,
    asked: Asked::Always,
};

pub(crate) fn finding(place: SourcePlace, severity: Severity, message: String, edit: Option<Edit>) -> Finding {
    Finding { rule: RuleId::IgnoreUnused, severity, place, message, fix: TEXT.fix.to_owned(), related: None, edit }
}
