//! `topic-unregistered`: a topic without a schema, in a project that has schemas.

use prom_types::{TopicName, TopicPattern};

use super::version_suffix::split_version;
use super::{Asked, LintRuleText, RuleContext, RuleId, Sample, SiteFacts};
use crate::project::ProjectSchemas;
use crate::settings::Severity;

pub const TEXT: LintRuleText = LintRuleText {
    id: "topic-unregistered",
    title: "A topic has no schema",
    explanation: "The project has schemas, but none for this topic, so nothing checks what is published there. The \
        name may also be misspelt. The hub's own topics (`dlq.`, `system.`), dual-write copies of a topic with a \
        schema (`orders.placed.v2`), and its snapshots need none. A pattern is enough if it matches one topic with \
        a schema.",
    bad: Sample {
        language: "ts",
        code: "await client.publish(\"orders.placd\", order);   // schemas/orders.placed/v1.json",
    },
    good: Sample { language: "ts", code: "await client.publish(\"orders.placed\", order);" },
    fix: "correct the name, add `schemas/<topic>/v1.json`, or list the topic under `allow` in `[lint]`",
    severity: Severity::Error,
    is_fixable: false,
    asked: Asked::WithSchemas,
};

pub fn check(context: &RuleContext<'_>, site: &SiteFacts) {
    if !context.schemas.is_in_use() || !context.is_on(RuleId::TopicUnregistered) {
        return;
    }
    for topic in site.known_topics() {
        let is_valid = match site.publishes() {
            true => TopicName::parse(&topic.name).is_ok(),
            false => TopicPattern::parse(&topic.name).is_ok(),
        };
        let name = topic.name.as_str();
        if !is_valid || is_registered(context.schemas, name) || context.is_allowed(RuleId::TopicUnregistered, name) {
            continue;
        }
        let nearest = nearest(context.schemas, name);
        let fix = match nearest {
            Some(near) => {
                format!("did you mean {near:?}? Else add schemas/{name}/v1.json, or allow the topic in [lint]")
            }
            None => format!(
                "add schemas/{name}/v1.json, or allow the topic: [lint] allow = {{ topic-unregistered = [{name:?}] }}"
            ),
        };
        let message = match name.contains('*') {
            true => format!("no topic with a schema matches {name:?}"),
            false => format!("topic {name:?} has no schema"),
        };
        context.report_text(RuleId::TopicUnregistered, site, (topic.text, topic.argument), message, fix, None);
    }
}

pub(super) fn is_registered(schemas: &ProjectSchemas, name: &str) -> bool {
    if name.contains('*') {
        let Ok(pattern) = TopicPattern::parse(name) else { return true };
        let reserved = name.starts_with("dlq.") || name.starts_with("system.");
        // Snapshots and copies of a topic match where the topic with its suffix does; wide patterns match everything.
        let wide = name.ends_with('*')
            && schemas
                .topics
                .keys()
                .any(|topic| ["v1", "snapshot"].iter().any(|suffix| pattern.matches(&format!("{topic}.{suffix}"))));
        return reserved || wide || schemas.topics.keys().any(|topic| pattern.matches(topic));
    }
    let is_reserved = TopicName::parse(name).is_ok_and(|topic| topic.is_reserved());
    let base = name.strip_suffix(".snapshot").or_else(|| split_version(name).map(|(base, _)| base));
    is_reserved || schemas.topic(name).is_some() || base.is_some_and(|base| schemas.topic(base).is_some())
}

/// The topic with a schema that differs in the fewest characters, if those are few.
pub(super) fn nearest<'s>(schemas: &'s ProjectSchemas, name: &str) -> Option<&'s str> {
    let near = schemas.topics.keys().map(|topic| (distance(topic, name), topic.as_str()));
    let (distance, topic) = near.min()?;
    (distance <= 2 && name.len() > 4).then_some(topic)
}

/// Levenshtein's.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(a != *b)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[right.len()]
}
