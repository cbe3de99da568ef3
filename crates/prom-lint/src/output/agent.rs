//! For programs that write code: place, rule, what is wrong, what to write; nothing else.

use super::{SourceTexts, human};
use crate::run::LintReport;

pub fn render(report: &LintReport, texts: &mut SourceTexts) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let (start, _) = texts.range(&finding.place);
        let path = human::printable(&texts.shown(&finding.place.path));
        let message = human::printable(&finding.message);
        out.push_str(&format!("{path}:{}:{} {} {message}\n", start.line, start.column, finding.rule));
        if let Some((place, _)) = &finding.related {
            let (at, _) = texts.range(place);
            out.push_str(&format!("  see {}:{}:{}\n", texts.shown(&place.path), at.line, at.column));
        }
        out.push_str(&format!("  fix: {}\n", human::printable(&finding.fix)));
    }
    if report.findings.is_empty() {
        out.push_str("no findings\n");
    }
    out
}
