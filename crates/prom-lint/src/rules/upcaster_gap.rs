//! `upcaster-gap`: readers of old events would not get from one version to the next.

use prom_schema::Compat;

use super::{Asked, LintRuleText, RuleContext, RuleId, Sample};
use crate::finding::SourcePlace;
use crate::project::{ProjectTopic, place_of_pointer};
use crate::record::Span;
use crate::settings::Severity;

pub const TEXT: LintRuleText = LintRuleText {
    id: "upcaster-gap",
    title: "A step between versions is missing or broken",
    explanation: "Normalised readers get events of old versions through upcasters, step by step. A topic that has one, or is held \
        to `compat = \"upcast\"`, needs one wherever a version is not backward compatible with the one before; else such an event \
        goes to the dead letters. A step whose program is no jq, or that leads to a version that is not there, is no step.",
    bad: Sample { language: "text", code: "schemas/orders.placed/v1.json  v2.json  v3.json  v1-to-v2.jq" },
    good: Sample {
        language: "text",
        code: "schemas/orders.placed/v1.json  v2.json  v3.json  v1-to-v2.jq  v2-to-v3.jq",
    },
    fix: "write the missing step as a jq program over the payload",
    severity: Severity::Error,
    is_fixable: false,
    asked: Asked::WithSchemas,
};

pub fn check(context: &RuleContext<'_>) {
    if !context.is_on(RuleId::UpcasterGap) {
        return;
    }
    for (name, topic) in &context.schemas.topics {
        if context.is_allowed(RuleId::UpcasterGap, name) {
            continue;
        }
        check_steps(context, name, topic);
        check_gaps(context, name, topic);
    }
    for step in &context.settings.steps {
        let is_known = context.schemas.topics.contains_key(&step.topic);
        if context.schemas.is_in_use() && !is_known && !context.is_allowed(RuleId::UpcasterGap, &step.topic) {
            let path = context.settings.config_file.clone().unwrap_or_default();
            let message = format!("[[upcast]] names {}, which has no schema", step.topic);
            let fix = "correct the topic, or add its schemas";
            context.report(RuleId::UpcasterGap, SourcePlace { path, span: Span::default() }, message, fix);
        }
    }
}

fn check_steps(context: &RuleContext<'_>, name: &str, topic: &ProjectTopic) {
    let place = |from: u32| {
        let file = topic.upcasters.get(&from).and_then(|(path, _)| path.clone());
        let path = file.or_else(|| context.settings.config_file.clone()).unwrap_or_default();
        SourcePlace { path, span: Span::default() }
    };
    for (from, reason) in topic.broken_steps() {
        let message = format!("the step of {name} from version {from} to {} is not valid jq: {reason}", from + 1);
        context.report(
            RuleId::UpcasterGap,
            place(from),
            message,
            "correct the program; `prom schema prove` tries it out",
        );
    }
    for from in topic.upcasters.keys().copied() {
        if !topic.versions.contains_key(&(from + 1)) {
            let message = format!("the step of {name} leads to version {}, which is not there", from + 1);
            let fix = format!("add v{}.json, or remove the step", from + 1);
            context.report(RuleId::UpcasterGap, place(from), message, fix);
        }
    }
}

fn check_gaps(context: &RuleContext<'_>, name: &str, topic: &ProjectTopic) {
    let compat = context.schemas.defaults.with(&topic.settings).compat;
    if topic.upcasters.is_empty() && compat != Compat::Upcast {
        return;
    }
    for (number, version) in topic.versions.iter().filter(|(number, _)| **number > 1) {
        let from = number - 1;
        // Without a step, `backward` and its kin are judged by schema-incompatible.
        let is_judged_elsewhere =
            !matches!(compat, Compat::Upcast | Compat::None | Compat::Forward | Compat::ForwardTransitive);
        if topic.upcasters.contains_key(&from)
            || is_judged_elsewhere
            || topic.is_backward(context.schemas.defaults, from)
        {
            continue;
        }
        let place = SourcePlace { path: version.path.clone(), span: place_of_pointer(&version.text, "") };
        let message = format!("there is no upcaster of {name} from version {from} to {number}");
        let fix = format!("write v{from}-to-v{number}.jq beside it");
        context.report(RuleId::UpcasterGap, place, message, fix);
    }
}
