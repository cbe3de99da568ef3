//! `header-name`: a header that the hub would refuse.

use prom_types::Headers;

use super::{Asked, LintRuleText, RuleContext, RuleId, Sample, SiteFacts};
use crate::resolve::KnownText;
use crate::settings::Severity;

pub const TEXT: LintRuleText = LintRuleText {
    id: "header-name",
    title: "A header's name breaks the naming rule",
    explanation: "A header name is `x-` followed by lower-case letters, digits and dashes; `content-type` (in any \
        case), `traceparent` and `tracestate` are allowed too. The hub refuses a publish with any other header.",
    bad: Sample {
        language: "ts",
        code: "await client.publish(\"orders.placed\", order, { headers: { \"X-Shop\": \"7\" } });",
    },
    good: Sample {
        language: "ts",
        code: "await client.publish(\"orders.placed\", order, { headers: { \"x-shop\": \"7\" } });",
    },
    fix: "write the name in lower case with the prefix `x-`; `--fix` lower-cases it",
    severity: Severity::Error,
    is_fixable: true,
    asked: Asked::Always,
};

pub fn check(context: &RuleContext<'_>, site: &SiteFacts) {
    for header in &site.headers {
        let Some(name) = header.whole() else { continue };
        let Some(error) = Headers::default().insert(&name, "").err() else { continue };
        if context.is_allowed(RuleId::HeaderName, &name) {
            continue;
        }
        let lower = name.to_lowercase();
        // Two headers must not become one.
        let same = site.headers.iter().filter_map(KnownText::whole).filter(|other| other.to_lowercase() == lower);
        let is_only_one = same.count() == 1;
        let replacement = Some(lower).filter(|lower| is_valid(lower) && is_only_one);
        let fix = match &replacement {
            Some(lower) => format!("write {lower:?}"),
            None => {
                let plain: String =
                    name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
                let prefixed = format!("x-{}", plain.trim_matches('-').trim_start_matches("x-"));
                if is_valid(&prefixed) { format!("call it {prefixed:?}") } else { TEXT.fix.to_owned() }
            }
        };
        context.report_text(
            RuleId::HeaderName,
            site,
            (header, site.header_argument(header)),
            error.to_string(),
            fix,
            replacement,
        );
    }
}

fn is_valid(name: &str) -> bool {
    Headers::default().insert(name, "").is_ok()
}
