//! `group-name`: a group that the hub would refuse.

use prom_types::GroupName;

use super::{Asked, LintRuleText, RuleContext, RuleId, Sample, SiteFacts};
use crate::settings::Severity;

pub const TEXT: LintRuleText = LintRuleText {
    id: "group-name",
    title: "A group's name breaks the naming rule",
    explanation: "A group name has 1 to 128 of the characters A-Z, a-z, 0-9, `.`, `_`, `:` and `-`. The hub refuses a \
        subscription with any other.",
    bad: Sample { language: "ts", code: "await client.subscribe(\"orders.*\", \"billing team\", handle);" },
    good: Sample { language: "ts", code: "await client.subscribe(\"orders.*\", \"billing-team\", handle);" },
    fix: "replace the characters that are not allowed",
    severity: Severity::Error,
    is_fixable: false,
    asked: Asked::Always,
};

pub fn check(context: &RuleContext<'_>, site: &SiteFacts) {
    let (Some(groups), Some(argument)) = (&site.groups, &site.site.group) else {
        return;
    };
    for text in &groups.known {
        let Some(name) = text.whole() else { continue };
        let Some(error) = GroupName::parse(&name).err() else { continue };
        if context.is_allowed(RuleId::GroupName, &name) {
            continue;
        }
        let allowed = |c: char| if c.is_ascii_alphanumeric() || "._:-".contains(c) { c } else { '-' };
        let better: String = name.chars().map(allowed).take(128).collect();
        let fix = match GroupName::parse(&better) {
            Ok(_) => format!("write {better:?}, for example"),
            Err(_) => "give the group a name".to_owned(),
        };
        context.report_text(RuleId::GroupName, site, (text, argument.span), error.to_string(), fix, None);
    }
}
