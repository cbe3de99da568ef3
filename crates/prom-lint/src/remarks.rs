//! `prom-ignore` in comments: hides findings, and is a finding itself when it hides none.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::finding::{Edit, Finding, LineIndex, SourcePlace};
use crate::record::{Call, Ignore, Span};
use crate::resolve::SourceModule;
use crate::rules::{self, RuleId};
use crate::settings::{LintSettings, Severity};

/// What is left, and how many were hidden.
pub fn apply(
    settings: &LintSettings,
    findings: Vec<Finding>,
    modules: &[Arc<SourceModule>],
    could_ask: &dyn Fn(rules::Asked) -> bool,
) -> (Vec<Finding>, u64) {
    let remarks: HashMap<&PathBuf, &[Ignore]> = modules
        .iter()
        .filter(|module| !module.record.ignores.is_empty())
        .map(|module| (&module.path, module.record.ignores.as_slice()))
        .collect();
    if remarks.is_empty() {
        return (findings, 0);
    }
    let calls: HashMap<&PathBuf, &[Call]> =
        modules.iter().map(|module| (&module.path, module.record.calls.as_slice())).collect();
    let mut lines: HashMap<&PathBuf, LineIndex> = HashMap::new();
    let mut texts: HashMap<&PathBuf, String> = HashMap::new();
    for path in remarks.keys() {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        lines.insert(path, LineIndex::new(&text));
        texts.insert(path, text);
    }
    let mut used: HashMap<(&PathBuf, usize), Vec<RuleId>> = HashMap::new();
    let before = findings.len();
    let mut left: Vec<Finding> = Vec::with_capacity(before);
    for finding in findings {
        let here = remarks.get_key_value(&finding.place.path);
        let hidden_by = here.and_then(|(path, remarks)| {
            let of = lines.get(path)?;
            let line = of.line_of(finding.place.span.start);
            let begins = calls.get(path).and_then(|calls| first_line(calls, of, finding.place.span));
            let speaks = |remark: &Ignore| {
                remark.has_reason
                    && remark.rules.iter().any(|rule| rule == finding.rule.id())
                    && (remark.is_for_file || remark.line == line || Some(remark.line) == begins)
            };
            remarks.iter().position(speaks).map(|at| (*path, at))
        });
        match hidden_by {
            Some(remark) => used.entry(remark).or_default().push(finding.rule),
            None => left.push(finding),
        }
    }
    let hidden = (before - left.len()) as u64;
    let severity = settings.severity(RuleId::IgnoreUnused);
    if severity != Severity::Off {
        for (path, remarks) in &remarks {
            for (at, remark) in remarks.iter().enumerate() {
                let used = used.get(&(*path, at)).map_or(&[][..], Vec::as_slice);
                let text = texts.get(path).map_or("", String::as_str);
                if let Some((message, edit)) = fault((settings, could_ask), remark, used, path, text) {
                    let place = SourcePlace { path: (*path).clone(), span: remark.span };
                    left.push(rules::unused_ignore(place, severity, message, edit));
                }
            }
        }
    }
    (left, hidden)
}

/// The line where the innermost call around a place begins: a remark above a call speaks of all its lines.
fn first_line(calls: &[Call], lines: &LineIndex, place: Span) -> Option<u32> {
    let around = calls.iter().filter(|call| call.span.start <= place.start && place.end <= call.span.end);
    let innermost = around.min_by_key(|call| call.span.end - call.span.start)?;
    // The calls of a chain begin together.
    Some(lines.line_of(innermost.span.start))
}

/// What is wrong with a remark, and how it can be removed.
fn fault(
    (settings, could_ask): (&LintSettings, &dyn Fn(rules::Asked) -> bool),
    remark: &Ignore,
    used: &[RuleId],
    path: &std::path::Path,
    text: &str,
) -> Option<(String, Option<Edit>)> {
    if remark.rules.is_empty() {
        return Some(("it names no rule, so it ignores nothing".to_owned(), None));
    }
    if let Some(unknown) = remark.rules.iter().find(|rule| RuleId::named(rule).is_none()) {
        return Some((format!("there is no rule {unknown:?}, so it ignores nothing"), None));
    }
    if !remark.has_reason {
        return Some(("it gives no reason, so it ignores nothing: write one after a colon".to_owned(), None));
    }
    let is_unused = |rule: &&String| {
        let rule = RuleId::named(rule);
        // What is switched off, or was not asked, may be needed another time.
        let is_on = rule.is_some_and(|rule| settings.severity(rule) != Severity::Off);
        let asked = rule.is_some_and(|rule| could_ask(rule.text().asked));
        is_on && asked && !used.iter().any(|used| Some(*used) == rule)
    };
    let unused: Vec<&str> = remark.rules.iter().filter(is_unused).map(String::as_str).collect();
    match unused.len() {
        0 => None,
        count if count == remark.rules.len() => {
            let message = format!("nothing here breaks {}", unused.join(", "));
            Some((message, removal(remark, path, text)))
        }
        _ => Some((format!("nothing here breaks {}", unused.join(", ")), None)),
    }
}

/// The comment with the space before it; a line of its own as a whole.
fn removal(remark: &Ignore, path: &std::path::Path, text: &str) -> Option<Edit> {
    let (start, end) = (remark.span.start as usize, remark.span.end as usize);
    let before = text.get(..start)?;
    let after = text.get(end..)?;
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line_end = after.find('\n');
    let rest = &after[..line_end.unwrap_or(after.len())];
    if !rest.trim().is_empty() {
        return None;
    }
    let stands_alone = before[line_start..].trim().is_empty();
    let from = if stands_alone { line_start } else { before.trim_end_matches([' ', '\t']).len() };
    let to = match (stands_alone, line_end) {
        (true, Some(length)) => end + length + 1,
        _ => end,
    };
    let place = SourcePlace { path: path.to_path_buf(), span: Span::new(from as u32, to as u32) };
    Some(Edit { place, text: String::new() })
}
