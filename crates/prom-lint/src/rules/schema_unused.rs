//! `schema-unused`: a schema of a topic that no code mentions.

use super::{Asked, LintRuleText, RuleContext, RuleId, Sample};
use crate::finding::SourcePlace;
use crate::project::place_of_pointer;
use crate::settings::Severity;

pub const TEXT: LintRuleText = LintRuleText {
    id: "schema-unused",
    title: "No code mentions the topic of a schema",
    explanation: "No call publishes to the topic or subscribes to it, no text in the code is its name, no other schema refers to it, \
        and `prom.toml` does not declare it. The topic may have been renamed. Checked if the whole project is linted.",
    bad: Sample { language: "text", code: "schemas/orders.plcd/v1.json" },
    good: Sample { language: "text", code: "schemas/orders.placed/v1.json" },
    fix: "remove the folder, correct its name, or allow the topic in `[lint]` if another project uses it",
    severity: Severity::Warn,
    is_fixable: false,
    asked: Asked::WithSchemas,
};

pub fn check(context: &RuleContext<'_>) {
    if !context.is_whole_project || !context.is_on(RuleId::SchemaUnused) {
        return;
    }
    let references = context.schemas.topics.values().flat_map(|topic| topic.versions.values());
    let referred: Vec<String> = references
        .flat_map(|version| version.document.references.iter().map(|other| other.subject.to_string()))
        .collect();
    let declared = |name: &str| {
        context.settings.declared.iter().any(|topic| topic.name == name)
            || context.settings.steps.iter().any(|step| step.topic == name)
    };
    for (name, topic) in &context.schemas.topics {
        let copies = || (1..=topic.versions.len()).any(|number| context.is_mentioned(&format!("{name}.v{number}")));
        let is_used = context.is_mentioned(name) || referred.contains(name) || declared(name) || copies();
        let Some(version) = topic.versions.values().next() else { continue };
        if is_used || context.is_allowed(RuleId::SchemaUnused, name) {
            continue;
        }
        let place = SourcePlace { path: version.path.clone(), span: place_of_pointer(&version.text, "") };
        let message = format!("no code mentions the topic {name:?}");
        context.report(RuleId::SchemaUnused, place, message, TEXT.fix);
    }
}
