//! `version-suffix`: `.vN` at the end of a topic whose schemas say otherwise.

use super::{Asked, LintRuleText, RuleContext, RuleId, Sample, SiteFacts};
use crate::settings::Severity;

pub const TEXT: LintRuleText = LintRuleText {
    id: "version-suffix",
    title: "A topic's `.vN` does not match its schemas",
    explanation: "`orders.placed.v2` is the topic that dual write fills with the events of `orders.placed` under \
        version 2 of its schema. Publishing to it directly bypasses `orders.placed`, whose consumers then miss the \
        event; and nothing fills a version that the topic does not have. A number with leading zeros, or zero, is \
        not a version.",
    bad: Sample {
        language: "ts",
        code: "await client.publish(\"orders.placed.v2\", order);   // orders.placed has a schema",
    },
    good: Sample {
        language: "ts",
        code: "await client.publish(\"orders.placed\", order, { headers: { \"x-schema-version\": \"2\" } });",
    },
    fix: "publish to the topic itself and name the version by `x-schema-version`, or subscribe to an existing version",
    severity: Severity::Warn,
    is_fixable: false,
    asked: Asked::WithSchemas,
};

pub fn check(context: &RuleContext<'_>, site: &SiteFacts) {
    for topic in site.known_topics() {
        let name = topic.name.as_str();
        // A topic with schemas of its own is no copy.
        if context.schemas.topic(name).is_some() || context.is_allowed(RuleId::VersionSuffix, name) {
            continue;
        }
        let Some((base, number)) = split_version(name) else { continue };
        let versions = context.schemas.topic(base).map(|topic| &topic.versions);
        let (message, fix) = match versions {
            _ if number == "0" || (number.starts_with('0') && number.len() > 1) => {
                (format!("`.v{number}` is no version"), "versions are v1, v2 and so on".to_owned())
            }
            None => continue,
            Some(versions) if !number.parse().is_ok_and(|number: u32| versions.contains_key(&number)) => {
                let last = versions.keys().next_back().copied().unwrap_or_default();
                let what = format!("{base} has no version {number}: its latest is {last}");
                (what, format!("use {base}.v{last}, or register version {number}"))
            }
            Some(_) if site.publishes() => {
                let what = format!(
                    "{name} is the copy of {base} that dual write makes: its readers alone would see this event"
                );
                (what, format!("publish to {base:?} and name the version by x-schema-version: {number}"))
            }
            Some(_) => continue,
        };
        context.report_text(RuleId::VersionSuffix, site, (topic.text, topic.argument), message, fix, None);
    }
}

/// `orders.placed` and `2` of `orders.placed.v2`.
pub(super) fn split_version(name: &str) -> Option<(&str, &str)> {
    let (base, last) = name.rsplit_once('.')?;
    let number = last.strip_prefix('v')?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some((base, number))
}
