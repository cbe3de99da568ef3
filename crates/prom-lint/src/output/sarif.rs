//! SARIF 2.1.0: one run, its rules, its results. Columns count Unicode code points, and say so.

use serde_json::{Value, json};

use super::SourceTexts;
use crate::finding::{Edit, Finding, SourcePlace};
use crate::rules::{self, RuleId};
use crate::run::LintReport;
use crate::settings::Severity;

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

pub fn render(report: &LintReport, texts: &mut SourceTexts) -> String {
    let results: Vec<Value> = report.findings.iter().map(|finding| result(finding, texts)).collect();
    let document = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "prom lint",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": RuleId::ALL.iter().map(|rule| descriptor(*rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {"ROOT": {"description": {"text": "The root of the project."}}},
            "results": results,
        }],
    });
    document.to_string() + "\n"
}

fn descriptor(rule: RuleId) -> Value {
    let text = rule.text();
    json!({
        "id": text.id,
        "shortDescription": {"text": format!("{}.", text.title)},
        "fullDescription": {"text": text.explanation},
        "help": {"text": format!("To fix it: {}.", text.fix), "markdown": rules::page(rule)},
        "defaultConfiguration": {"enabled": text.severity != Severity::Off, "level": level(text.severity)},
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warn => "warning",
        Severity::Off => "none",
    }
}

fn result(finding: &Finding, texts: &mut SourceTexts) -> Value {
    let index = RuleId::ALL.iter().position(|rule| *rule == finding.rule);
    let mut result = json!({
        "ruleId": finding.rule.id(),
        "ruleIndex": index,
        "level": level(finding.severity),
        "message": {"text": format!("{}. Fix: {}.", finding.message, finding.fix)},
        "locations": [{"physicalLocation": location(&finding.place, texts)}],
    });
    if let Some((place, message)) = &finding.related {
        result["relatedLocations"] =
            json!([{"physicalLocation": location(place, texts), "message": {"text": message}}]);
    }
    if let Some(Edit { place, text }) = &finding.edit {
        result["fixes"] = json!([{
            "description": {"text": finding.fix},
            "artifactChanges": [{
                "artifactLocation": artifact(place, texts),
                "replacements": [{"deletedRegion": region(place, texts), "insertedContent": {"text": text}}],
            }],
        }]);
    }
    result
}

fn location(place: &SourcePlace, texts: &mut SourceTexts) -> Value {
    json!({"artifactLocation": artifact(place, texts), "region": region(place, texts)})
}

fn artifact(place: &SourcePlace, texts: &SourceTexts) -> Value {
    json!({"uri": uri(&texts.shown(&place.path)), "uriBaseId": "ROOT"})
}

fn region(place: &SourcePlace, texts: &mut SourceTexts) -> Value {
    let (start, end) = texts.range(place);
    json!({"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column})
}

/// A relative reference: what has a meaning in a URI is escaped.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
