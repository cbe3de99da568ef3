//! Annotations of GitHub's workflows: `::error file=…,line=…,col=…,title=…::message`.

use super::SourceTexts;
use crate::run::LintReport;
use crate::settings::Severity;

pub fn render(report: &LintReport, texts: &mut SourceTexts) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let (start, end) = texts.range(&finding.place);
        let path = property(&texts.shown(&finding.place.path));
        let kind = if finding.severity == Severity::Error { "error" } else { "warning" };
        let message = data(&format!("{}\nfix: {}", finding.message, finding.fix));
        out.push_str(&format!(
            "::{kind} file={path},line={},endLine={},col={},endColumn={},title={}::{message}\n",
            start.line, end.line, start.column, end.column, finding.rule
        ));
    }
    out
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
