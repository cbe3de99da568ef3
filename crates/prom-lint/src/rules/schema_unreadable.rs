//! `schema-unreadable`: a file of the schemas that cannot be used.

use super::{Asked, LintRuleText, RuleContext, RuleId, Sample};
use crate::finding::SourcePlace;
use crate::settings::Severity;

pub const TEXT: LintRuleText = LintRuleText {
    id: "schema-unreadable",
    title: "A file of the schemas cannot be used",
    explanation: "The file is not JSON or not a JSON Schema, its name is not a version, a version number is \
        missing, or it refers to a missing schema. The hub would refuse to start with such a folder.",
    bad: Sample { language: "text", code: "schemas/orders.placed/v1.json\nschemas/orders.placed/v3.json" },
    good: Sample { language: "text", code: "schemas/orders.placed/v1.json\nschemas/orders.placed/v2.json" },
    fix: "correct the file as the message says",
    severity: Severity::Error,
    is_fixable: false,
    asked: Asked::Always,
};

pub fn check(context: &RuleContext<'_>) {
    for problem in &context.schemas.problems {
        let place = SourcePlace { path: problem.path.clone(), span: problem.span };
        context.report(RuleId::SchemaUnreadable, place, problem.message.clone(), TEXT.fix);
    }
}
