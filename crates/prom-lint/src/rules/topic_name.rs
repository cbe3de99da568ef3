//! `topic-name`: a topic or pattern that the hub would refuse.

use prom_types::{TopicName, TopicPattern};

use super::{Asked, LintRuleText, RuleContext, RuleId, Sample, SiteFacts};
use crate::resolve::KnownText;
use crate::settings::Severity;

pub const TEXT: LintRuleText = LintRuleText {
    id: "topic-name",
    title: "A topic's name breaks the naming rule",
    explanation: "A topic is lower-case letters and digits in segments joined by dots, at most 255 bytes. A \
        subscription may also have `*` for one segment and `**` for any number. The hub refuses anything else, and \
        the call fails when it runs. If only parts of a name are known, those parts are checked.",
    bad: Sample { language: "ts", code: "await client.publish(\"Orders.Placed\", order);" },
    good: Sample { language: "ts", code: "await client.publish(\"orders.placed\", order);" },
    fix: "rename the topic; `--fix` turns capitals into lower-case letters, other characters need your decision",
    severity: Severity::Error,
    is_fixable: true,
    asked: Asked::Always,
};

pub fn check(context: &RuleContext<'_>, site: &SiteFacts) {
    for (text, argument) in site.all_topics() {
        let publishes = site.publishes();
        let fault = match text.whole() {
            Some(name) if publishes => TopicName::parse(&name).err().map(|error| error.to_string()),
            Some(name) => TopicPattern::parse(&name).err().map(|error| error.to_string()),
            None => fault_of_parts(text, publishes),
        };
        let shown = text.shown();
        let Some(fault) = fault.filter(|_| !context.is_allowed(RuleId::TopicName, &shown)) else { continue };
        let lower = text.whole().map(|name| name.to_lowercase());
        let replacement = lower.filter(|name| is_valid(name, publishes));
        let fix = match &replacement {
            Some(name) => format!("write {name:?}"),
            None => match suggestion(&shown, publishes) {
                Some(name) => format!("use small letters, digits and dots, such as {name:?}"),
                None => "use small letters, digits and dots, such as \"orders.placed\"".to_owned(),
            },
        };
        context.report_text(RuleId::TopicName, site, (text, argument), fault, fix, replacement);
    }
}

fn is_valid(name: &str, publishes: bool) -> bool {
    if publishes { TopicName::parse(name).is_ok() } else { TopicPattern::parse(name).is_ok() }
}

/// What can be told although parts are missing.
fn fault_of_parts(text: &KnownText, publishes: bool) -> Option<String> {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'.' || (byte == b'*' && !publishes);
    let known = || text.parts.iter().flatten();
    let last = text.parts.len() - 1;
    let begins_with_dot = text.parts[0].as_ref().is_some_and(|part| part.starts_with('.'));
    let ends_with_dot = text.parts[last].as_ref().is_some_and(|part| part.ends_with('.'));
    let reason = if known().any(|part| !part.bytes().all(allowed)) {
        "it has a character outside a-z, 0-9 and the dot"
    } else if known().any(|part| part.contains("..")) || begins_with_dot || ends_with_dot {
        "it has an empty segment"
    } else {
        return None;
    };
    Some(format!("topic name {:?} is invalid: {reason}", text.shown()))
}

/// `OrdersPlaced`, `orders_placed` and `orders/placed` are all `orders.placed`.
fn suggestion(name: &str, publishes: bool) -> Option<String> {
    let mut made = String::new();
    let mut after_small = false;
    for character in name.chars() {
        let breaks = character.is_ascii_uppercase() && after_small;
        let is_plain = character.is_ascii_alphanumeric() || character == '*';
        if (breaks || !is_plain) && !made.is_empty() && !made.ends_with('.') {
            made.push('.');
        }
        made.extend(is_plain.then(|| character.to_ascii_lowercase()));
        after_small = character.is_ascii_lowercase() || character.is_ascii_digit();
    }
    let made = made.trim_matches('.').to_owned();
    is_valid(&made, publishes).then_some(made)
}
