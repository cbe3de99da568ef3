//! One line each: `file:line:column: severity[rule] message`.

use super::{SourceTexts, human, statistics};
use crate::run::LintReport;

pub fn render(report: &LintReport, texts: &mut SourceTexts) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let (start, _) = texts.range(&finding.place);
        let path = human::printable(&texts.shown(&finding.place.path));
        let (severity, rule) = (finding.severity.as_str(), finding.rule);
        let message = human::printable(&finding.message);
        out.push_str(&format!("{path}:{}:{}: {severity}[{rule}] {message}\n", start.line, start.column));
    }
    out + &statistics::summary(report)
}
