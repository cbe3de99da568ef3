//! `--statistics`, and the line at the end.

use std::collections::BTreeMap;

use crate::rules::RuleId;
use crate::run::LintReport;
use crate::settings::Severity;

/// Findings by rule, and what the run looked at.
pub fn statistics(report: &LintReport) -> String {
    let mut by_rule: BTreeMap<RuleId, u64> = BTreeMap::new();
    for finding in &report.findings {
        *by_rule.entry(finding.rule).or_default() += 1;
    }
    let mut rules: Vec<(RuleId, u64)> = by_rule.into_iter().collect();
    rules.sort_by_key(|(rule, count)| (u64::MAX - count, *rule));
    let mut out: String = rules.iter().map(|(rule, count)| format!("{count:>7}  {rule}\n")).collect();
    let facts = &report.statistics;
    let mebibytes = facts.bytes as f64 / (1024.0 * 1024.0);
    out.push_str(&format!(
        "{:>7}  source files, {mebibytes:.1} MiB; {} may have calls\n{:>7}  parsed, {} from the cache\n",
        facts.files, facts.with_words, facts.parsed, facts.cached
    ));
    out.push_str(&format!(
        "{:>7}  calls on our clients; {} of others called publish or subscribe, {} of which nothing is known\n",
        facts.calls.ours, facts.calls.foreign, facts.calls.unknown
    ));
    out.push_str(&format!(
        "{:>7}  topics and patterns in the code; {} findings ignored by remarks\n",
        facts.topics, facts.ignored
    ));
    out
}

/// `2 errors, 1 warning in 310 files`.
pub(super) fn summary(report: &LintReport) -> String {
    let count = |severity: Severity| report.findings.iter().filter(|finding| finding.severity == severity).count();
    let plural = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let files = plural(report.statistics.files as usize, "source file");
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warn));
    let found = match (errors, warnings) {
        (0, 0) => "nothing found".to_owned(),
        (errors, 0) => plural(errors, "error"),
        (0, warnings) => plural(warnings, "warning"),
        (errors, warnings) => format!("{}, {}", plural(errors, "error"), plural(warnings, "warning")),
    };
    format!("{found} in {files}\n")
}
