//! `payload-mismatch`: a payload written in the code that no version of the topic's schema accepts.

use prom_schema::{Refusal, Validator};

use super::{Asked, LintRuleText, RuleContext, RuleId, Sample, SiteFacts};
use crate::project::{ProjectTopic, ProjectVersion};
use crate::resolve::PartialPayload;
use crate::settings::Severity;

pub const TEXT: LintRuleText = LintRuleText {
    id: "payload-mismatch",
    title: "A payload does not fit the topic's schema",
    explanation: "The payload, as far as it is written at the call or in an unchanged variable of the same file, is \
        checked against the topic's schema as the hub would: against the version that `x-schema-version` names, \
        otherwise against every version, and one that accepts it is enough. Unknown values count as valid: \
        spreads, fields, values from other files and functions, and anything that is changed after it was \
        written are never reported.",
    bad: Sample {
        language: "ts",
        code: "await client.publish(\"orders.placed\", { id: \"7\" });   // the schema wants an integer",
    },
    good: Sample { language: "ts", code: "await client.publish(\"orders.placed\", { id: 7 });" },
    fix: "change the payload, or register a version of the schema that accepts it",
    severity: Severity::Error,
    is_fixable: false,
    asked: Asked::WithSchemas,
};

/// Keywords under which a part of a schema applies only if something else is so.
const CONDITIONAL: [&str; 8] = ["anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "contains"];

pub fn check(context: &RuleContext<'_>, site: &SiteFacts) {
    let (Some(payload), Some(expr)) = (&site.payload, &site.site.payload) else {
        return;
    };
    // A payload for one of several topics may be chosen with it.
    let topics: Vec<_> = site.known_topics().collect();
    let [topic] = &topics[..] else { return };
    if payload.value.is_null() && payload.holes.is_empty() {
        return;
    }
    let Some(schemas) = context.schemas.topic(&topic.name) else { return };
    if context.is_allowed(RuleId::PayloadMismatch, &topic.name) {
        return;
    }
    let Some((version, refusal)) = refused(schemas, payload, site.version) else {
        return;
    };
    let place = if refusal.pointer.is_empty() { "it".to_owned() } else { refusal.pointer.clone() };
    let message = format!(
        "the payload does not fit version {version} of {}: {place}: {} (rule {})",
        topic.name, refusal.message, refusal.rule
    );
    let fix = format!("change the payload, or register a version of {} that accepts it", topic.name);
    let related = schemas.versions.get(&version).map(|schema| {
        let span = crate::project::place_of_pointer(&schema.text, &refusal.schema_pointer);
        (crate::finding::SourcePlace { path: schema.path.clone(), span }, "the schema asks for this".to_owned())
    });
    let finding = crate::finding::Finding {
        rule: RuleId::PayloadMismatch,
        severity: context.settings.severity(RuleId::PayloadMismatch),
        place: site.place(expr.span),
        message,
        fix,
        related,
        edit: None,
    };
    context.push(finding);
}

/// The newest version that is asked, with what stands against the payload, if all that are asked refuse it.
fn refused(schemas: &ProjectTopic, payload: &PartialPayload, named: Option<u32>) -> Option<(u32, Refusal)> {
    let asked = |number: &u32| named.is_none_or(|named| named == *number);
    let mut first = None;
    for (number, version) in schemas.versions.iter().rev().filter(|(number, _)| asked(number)) {
        let refusal = certain_refusal(version, payload)?;
        first = first.or(Some((*number, refusal)));
    }
    first
}

/// A refusal that holds whatever the unknown parts are.
fn certain_refusal(version: &ProjectVersion, payload: &PartialPayload) -> Option<Refusal> {
    let validator: &Validator = version.validator.as_ref()?;
    if payload.holes.is_empty() && payload.open.is_empty() {
        return validator.validate(&payload.value).err();
    }
    validator.refusals(&payload.value).into_iter().find(|refusal| {
        let is_below = |pointer: &String| {
            refusal.pointer == *pointer
                || refusal.pointer.strip_prefix(pointer.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        let holds_unknown =
            |pointer: &String| pointer.strip_prefix(refusal.pointer.as_str()).is_some_and(|rest| rest.starts_with('/'));
        let is_conditional = refusal.schema_pointer.split('/').any(|part| CONDITIONAL.contains(&part));
        let in_hole = payload.holes.iter().any(is_below);
        let is_open = payload.open.contains(&refusal.pointer);
        // What looks at a value as a whole may judge by a part that is not known.
        let holds = payload.holes.iter().any(holds_unknown)
            || payload.open.iter().any(|pointer| *pointer == refusal.pointer || holds_unknown(pointer));
        let looks_at_keys =
            matches!(refusal.rule.as_str(), "required" | "additionalProperties" | "type" | "maxProperties");
        let more_may_come = matches!(refusal.rule.as_str(), "required" | "minProperties" | "minItems");
        !(is_conditional || in_hole || is_open && more_may_come || holds && !looks_at_keys)
    })
}
