//! For people: the message, the source, the fix.

use super::excerpt::{BLUE, Colour, excerpt};
use super::{SourceTexts, statistics};
use crate::run::LintReport;
use crate::settings::Severity;

pub fn render(report: &LintReport, texts: &mut SourceTexts, colour: Colour) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let (word, code) = match finding.severity {
            Severity::Error => ("error", "1;31"),
            _ => ("warning", "1;33"),
        };
        let head = colour.paint(code, &format!("{word}[{}]", finding.rule));
        out.push_str(&format!("{head}: {}\n", printable(&finding.message)));
        out.push_str(&excerpt(texts, &finding.place, ('^', ""), (code, colour)));
        if let Some((place, label)) = &finding.related {
            out.push_str(&excerpt(texts, place, ('-', label), (BLUE, colour)));
        }
        let fixable = if finding.edit.is_some() { " (--fix does it)" } else { "" };
        out.push_str(&format!("  {} fix: {}{fixable}\n\n", colour.paint(BLUE, "="), printable(&finding.fix)));
    }
    out.push_str(&statistics::summary(report));
    out
}

/// Names come from source code and must not steer the terminal.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}
