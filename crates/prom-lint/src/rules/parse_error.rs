//! `parse-error`: a file that the parser does not understand, in part or as a whole.

use super::{Asked, LintRuleText, RuleContext, RuleId, Sample};
use crate::finding::SourcePlace;
use crate::resolve::SourceModule;
use crate::settings::Severity;

pub const TEXT: LintRuleText = LintRuleText {
    id: "parse-error",
    title: "A file cannot be parsed",
    explanation: "Calls in the part that cannot be parsed are not checked. The rest of the file, and all other \
        files, are. Only files that contain a client call, and the files they import, are parsed.",
    bad: Sample { language: "ts", code: "await client.publish(\"orders.placed\", { id: 7 );" },
    good: Sample { language: "ts", code: "await client.publish(\"orders.placed\", { id: 7 });" },
    fix: "correct the syntax, or exclude the file with `exclude` in `[lint]`",
    severity: Severity::Warn,
    is_fixable: false,
    asked: Asked::Always,
};

pub fn check(context: &RuleContext<'_>, module: &SourceModule) {
    for unreadable in &module.record.unreadable {
        let place = SourcePlace { path: module.path.clone(), span: unreadable.span };
        context.report(RuleId::ParseError, place, format!("cannot be parsed: {}", unreadable.message), TEXT.fix);
    }
}
