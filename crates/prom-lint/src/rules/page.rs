//! The page of a rule: what `--explain` prints and the guide holds.

use super::{Asked, RuleId};

/// Markdown that reads well as it is.
pub fn page(rule: RuleId) -> String {
    let text = rule.text();
    let asked = match text.asked {
        Asked::Always => "",
        Asked::WithSchemas => " Checked if the project has schemas.",
        Asked::WithHub => " Checked with `--hub URL`.",
    };
    let fixable = if text.is_fixable { " `--fix` can do it." } else { "" };
    format!(
        "## {}\n\n{}. Severity: `{}`.{asked}{fixable}\n\n{}\n\nBad:\n\n```{}\n{}\n```\n\nGood:\n\n```{}\n{}\n```\n\nTo fix it: {}.\n",
        text.id,
        text.title,
        text.severity.as_str(),
        text.explanation,
        text.bad.language,
        text.bad.code,
        text.good.language,
        text.good.code,
        text.fix,
    )
}

/// All of them, for the guide.
pub fn pages() -> String {
    RuleId::ALL.iter().map(|rule| page(*rule)).collect::<Vec<_>>().join("\n")
}
