//! JSON for programs: findings with places, and what the run looked at.

use serde::Serialize;

use super::SourceTexts;
use crate::finding::{LineColumn, SourcePlace};
use crate::rules::RuleId;
use crate::run::{LintReport, LintStatistics};
use crate::settings::Severity;

#[derive(Serialize)]
struct Document<'r> {
    findings: Vec<JsonFinding<'r>>,
    errors: usize,
    warnings: usize,
    statistics: &'r LintStatistics,
    notes: &'r [String],
}

#[derive(Serialize)]
struct JsonFinding<'r> {
    rule: RuleId,
    severity: Severity,
    #[serde(flatten)]
    place: JsonPlace,
    message: &'r str,
    fix: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    related: Option<JsonRelated<'r>>,
    /// `--fix` can do it.
    fixable: bool,
}

#[derive(Serialize)]
struct JsonPlace {
    file: String,
    start: LineColumn,
    end: LineColumn,
}

#[derive(Serialize)]
struct JsonRelated<'r> {
    #[serde(flatten)]
    place: JsonPlace,
    message: &'r str,
}

pub fn render(report: &LintReport, texts: &mut SourceTexts) -> String {
    let findings = report.findings.iter().map(|finding| JsonFinding {
        rule: finding.rule,
        severity: finding.severity,
        place: place(texts, &finding.place),
        message: &finding.message,
        fix: &finding.fix,
        related: finding.related.as_ref().map(|(at, message)| JsonRelated { place: place(texts, at), message }),
        fixable: finding.edit.is_some(),
    });
    let findings: Vec<JsonFinding<'_>> = findings.collect();
    let count = |severity: Severity| report.findings.iter().filter(|finding| finding.severity == severity).count();
    let document = Document {
        findings,
        errors: count(Severity::Error),
        warnings: count(Severity::Warn),
        statistics: &report.statistics,
        notes: &report.notes,
    };
    // Its keys are text, so it can always be written.
    serde_json::to_string(&document).unwrap_or_default() + "\n"
}

fn place(texts: &mut SourceTexts, at: &SourcePlace) -> JsonPlace {
    let (start, end) = texts.range(at);
    JsonPlace { file: texts.shown(&at.path), start, end }
}
