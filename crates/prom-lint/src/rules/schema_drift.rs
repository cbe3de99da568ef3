//! `schema-drift`: the project's schemas and those of the live hub are not the same.

use super::{Asked, LintRuleText, RuleContext, RuleId, Sample};
use crate::finding::SourcePlace;
use crate::project::place_of_pointer;
use crate::record::Span;
use crate::settings::Severity;

pub const TEXT: LintRuleText = LintRuleText {
    id: "schema-drift",
    title: "The hub has other schemas than the project",
    explanation: "The hub has a version with a different schema than the project's file, versions that the folder \
        lacks, or lacks versions of the folder. Key order and white space do not count.",
    bad: Sample { language: "text", code: "schemas/orders.placed/v1.json    the hub: orders.placed versions 1, 2" },
    good: Sample {
        language: "text",
        code: "schemas/orders.placed/v1.json  v2.json    the hub: orders.placed versions 1, 2",
    },
    fix: "update the folder (`prom schema show`), or register the new versions (`prom schema register`)",
    severity: Severity::Error,
    is_fixable: false,
    asked: Asked::WithHub,
};

pub fn check(context: &RuleContext<'_>) {
    let Some(hub) = context.hub else { return };
    let allowed = |name: &str| context.is_allowed(RuleId::SchemaDrift, name);
    for (name, topic) in context.schemas.topics.iter().filter(|(name, _)| !allowed(name)) {
        let live = hub.schemas.get(name);
        for (number, version) in &topic.versions {
            let place = SourcePlace { path: version.path.clone(), span: place_of_pointer(&version.text, "") };
            let (message, fix) = match live.and_then(|live| live.get(number)) {
                Some(schema) if *schema == version.document.schema => continue,
                // A file of `[[topic]]` is registered as the next version, whatever that is.
                _ if topic.folder.is_none()
                    && live.is_some_and(|live| live.values().any(|schema| *schema == version.document.schema)) =>
                {
                    continue;
                }
                Some(_) => (
                    format!("version {number} of {name} is another schema at {}", hub.address),
                    format!("a version never changes: compare with `prom schema show {name} {number}`"),
                ),
                None => (
                    format!("version {number} of {name} is not registered at {}", hub.address),
                    format!("`prom schema register {name} {}`", context.shown(&version.path)),
                ),
            };
            context.report(RuleId::SchemaDrift, place, message, fix);
        }
        let missing =
            live.into_iter().flat_map(|live| live.keys()).filter(|number| !topic.versions.contains_key(number));
        let missing: Vec<String> = missing.map(u32::to_string).collect();
        if let (false, Some(folder)) = (missing.is_empty(), &topic.folder) {
            let place = SourcePlace { path: folder.clone(), span: Span::default() };
            let message =
                format!("the hub at {} has versions of {name} that are not here: {}", hub.address, missing.join(", "));
            context.report(RuleId::SchemaDrift, place, message, format!("`prom schema show {name}` prints them"));
        }
    }
    let Some(folder) = context.schemas.folder.as_ref() else { return };
    for name in hub.schemas.keys().filter(|name| !context.schemas.topics.contains_key(*name) && !allowed(name)) {
        // Other projects register schemas too: it counts if this one uses the topic.
        if context.is_mentioned(name) {
            let place = SourcePlace { path: folder.clone(), span: Span::default() };
            let message = format!(
                "the hub at {} has a schema of {name}, which the code uses, and this folder has none",
                hub.address
            );
            context.report(RuleId::SchemaDrift, place, message, format!("`prom schema show {name}` prints it"));
        }
    }
}
