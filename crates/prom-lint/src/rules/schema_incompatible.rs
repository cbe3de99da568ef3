//! `schema-incompatible`: a version that breaks what its topic promises, or that was changed after it was released.

use std::path::Path;

use prom_schema::compat::Violation;

use super::{Asked, LintRuleText, RuleContext, RuleId, Sample};
use crate::finding::SourcePlace;
use crate::project::{ProjectTopic, SchemaHistory, place_of_pointer};
use crate::record::Span;
use crate::settings::{DeclaredStep, Severity};

pub const TEXT: LintRuleText = LintRuleText {
    id: "schema-incompatible",
    title: "A version of a schema breaks its compatibility",
    explanation: "Each version is compared with earlier ones, under the topic's `compat`, as the registry does at \
        registration. With `--against REF` only differences from that revision are checked, and a version that \
        existed there may neither change nor disappear: consumers and stored events rely on it.",
    bad: Sample {
        language: "json",
        code: "{ \"type\": \"object\", \"required\": [\"id\", \"shop\"] }   // v2.json; v1.json asks for id only",
    },
    good: Sample {
        language: "json",
        code: "{ \"type\": \"object\", \"required\": [\"id\"], \"properties\": { \"shop\": { \"type\": \"string\" } } }",
    },
    fix: "follow the advice of the violation, write an upcaster, or put the change into the next version",
    severity: Severity::Error,
    is_fixable: false,
    asked: Asked::WithSchemas,
};

pub fn check(context: &RuleContext<'_>) {
    if !context.is_on(RuleId::SchemaIncompatible) {
        return;
    }
    for (name, topic) in &context.schemas.topics {
        if context.is_allowed(RuleId::SchemaIncompatible, name) {
            continue;
        }
        for number in topic.versions.keys().copied() {
            if context.history.is_none_or(|history| changed_since(context, history, name, number)) {
                check_version(context, name, topic, number);
            }
        }
    }
    if let Some(history) = context.history {
        check_history(context, history);
    }
}

fn check_version(context: &RuleContext<'_>, name: &str, topic: &ProjectTopic, number: u32) {
    let Some(version) = topic.versions.get(&number) else { return };
    let defaults = context.schemas.defaults;
    let place =
        |pointer: &str| SourcePlace { path: version.path.clone(), span: place_of_pointer(&version.text, pointer) };
    match topic.violations(defaults, number) {
        Err(reason) => {
            let message = format!("version {number} of {name} could not be compared: {reason}");
            context.report(RuleId::SchemaIncompatible, place(""), message, "make the schema smaller or simpler");
        }
        Ok(violations) => {
            let compat = topic.compat(defaults, number);
            for violation in violations {
                let message = in_words(name, number, &violation, compat.as_str());
                context.report(RuleId::SchemaIncompatible, place(&violation.pointer), message, violation.fix);
            }
        }
    }
}

fn in_words(name: &str, number: u32, violation: &Violation, compat: &str) -> String {
    let against = violation.against_version.map_or(String::new(), |version| format!(" with version {version}"));
    let example = match &violation.example {
        Some(example) => {
            let shown: String = example.to_string().chars().take(80).collect();
            format!("; a document that shows it: {shown}")
        }
        None => String::new(),
    };
    format!(
        "version {number} of {name} is not {compat} compatible{against}: {} (rule {}){example}",
        violation.message, violation.rule
    )
}

/// The version, one before it that it is compared with, or what it is held to is not what it was.
fn changed_since(context: &RuleContext<'_>, history: &SchemaHistory, name: &str, number: u32) -> bool {
    let Some(topic) = context.schemas.topics.get(name) else { return false };
    let same_file = |path: &Path| history.text(path) == std::fs::read_to_string(path).ok().as_deref();
    let same_settings = topic.folder.as_ref().is_none_or(|folder| same_file(&folder.join("settings.toml")));
    let same_steps = || {
        let declared = |steps: &[DeclaredStep]| {
            let of = steps.iter().filter(|step| step.topic == name && step.from < number).cloned();
            of.collect::<Vec<_>>()
        };
        let file = |from: u32| topic.folder.as_ref().map(|folder| folder.join(format!("v{from}-to-v{}.jq", from + 1)));
        let same_files = (1..number).filter_map(file).all(|path| same_file(&path));
        same_files && declared(&history.steps) == declared(&context.settings.steps)
    };
    let same_versions = || {
        topic.versions.range(..=number).all(|(_, version)| history.text(&version.path) == Some(version.text.as_str()))
    };
    !(same_settings && history.defaults == context.schemas.defaults && same_versions() && same_steps())
}

/// What was released stays as it is.
fn check_history(context: &RuleContext<'_>, history: &SchemaHistory) {
    let now = || {
        context.schemas.topics.iter().flat_map(|(name, topic)| {
            topic.versions.iter().map(move |(number, version)| (name, number, topic, version))
        })
    };
    for (name, number, topic, version) in now() {
        let Some(before) = history.text(&version.path) else { continue };
        let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        // The file of a `[[topic]]` has one version at a time: its change is the next one.
        if parse(before) == parse(&version.text) {
            continue;
        }
        let place = SourcePlace { path: version.path.clone(), span: place_of_pointer(&version.text, "") };
        if topic.folder.is_none() {
            check_file(context, (name, topic), place, before, &version.text);
            continue;
        }
        let message = format!("version {number} of {name} differs from what it is in {}", history.revision);
        let next = topic.versions.keys().next_back().copied().unwrap_or(*number) + 1;
        let fix = format!("a version never changes: put the change into v{next}.json");
        context.report(RuleId::SchemaIncompatible, place, message, fix);
    }
    let is_version = |path: &Path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.strip_prefix('v').and_then(|rest| rest.strip_suffix(".json")).is_some_and(|n| n.parse::<u32>().is_ok())
    };
    for gone in history.paths().filter(|path| is_version(path) && !path.exists()) {
        let place = SourcePlace { path: gone.to_path_buf(), span: Span::default() };
        let message = format!("the version was there in {} and is gone", history.revision);
        context.report(
            RuleId::SchemaIncompatible,
            place,
            message,
            "restore the file: stored events are of this version",
        );
    }
}

fn check_file(
    context: &RuleContext<'_>,
    (name, topic): (&str, &ProjectTopic),
    place: SourcePlace,
    before: &str,
    now: &str,
) {
    let (Ok(old), Ok(new)) = (serde_json::from_str(before), serde_json::from_str(now)) else { return };
    let settings = context.schemas.defaults.with(&topic.settings);
    let rules = prom_schema::compat::Settings {
        policy: settings.policy,
        formats: settings.formats,
        undecided: settings.undecided,
        ..prom_schema::compat::Settings::default()
    };
    let found = prom_schema::compat::check_mode(settings.compat, &[(1, &old)], &new, &rules).unwrap_or_default();
    for violation in found {
        let span = place_of_pointer(now, &violation.pointer);
        let message = format!(
            "the schema of {name} is not {} compatible with what it was: {} (rule {})",
            settings.compat, violation.message, violation.rule
        );
        context.report(RuleId::SchemaIncompatible, SourcePlace { span, ..place.clone() }, message, violation.fix);
    }
}
