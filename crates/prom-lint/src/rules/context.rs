//! What a rule can ask, and where it puts its findings.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use prom_types::TopicPattern;

use super::RuleId;
use crate::finding::{Edit, Finding, SourcePlace};
use crate::project::{LiveHub, ProjectSchemas, SchemaHistory};
use crate::record::Span;
use crate::resolve::{KnownText, Texts};
use crate::settings::{CallAction, LintSettings, Severity};
use crate::sites::Site;

pub struct RuleContext<'r> {
    pub settings: &'r LintSettings,
    pub schemas: &'r ProjectSchemas,
    pub history: Option<&'r SchemaHistory>,
    pub hub: Option<&'r LiveHub>,
    /// All code of the project was read, so what is in none of it is nowhere.
    pub is_whole_project: bool,
    /// Topics that code names, by call or by literal, and patterns it subscribes to.
    pub mentioned: Mutex<BTreeSet<String>>,
    pub findings: Mutex<Vec<Finding>>,
}

/// A place in the code with what is known about its arguments.
pub struct SiteFacts {
    pub site: Site,
    pub topics: Vec<Texts>,
    pub topic_spans: Vec<Span>,
    pub groups: Option<Texts>,
    /// Names of headers with their places, and whether they can be changed there.
    pub headers: Vec<KnownText>,
    pub payload: Option<crate::resolve::PartialPayload>,
    /// Of `x-schema-version`, if it is written there.
    pub version: Option<u32>,
}

/// A topic that a call names in full, with the place to report.
pub struct KnownTopic<'s> {
    pub name: String,
    pub text: &'s KnownText,
    pub argument: Span,
}

impl SiteFacts {
    /// Topics that are known in full.
    pub fn known_topics(&self) -> impl Iterator<Item = KnownTopic<'_>> {
        self.all_topics().filter_map(|(text, argument)| Some(KnownTopic { name: text.whole()?, text, argument }))
    }

    /// Topics with what is known of them.
    pub fn all_topics(&self) -> impl Iterator<Item = (&KnownText, Span)> {
        let spans = self.topic_spans.iter().copied();
        self.topics.iter().zip(spans).flat_map(|(texts, span)| texts.known.iter().map(move |text| (text, span)))
    }

    /// Whether a place of the site's file is inside of the call.
    pub fn holds(&self, span: Span) -> bool {
        self.site.span.start <= span.start && span.end <= self.site.span.end
    }

    /// Where to look for a header that another file writes: what the call was given.
    pub fn header_argument(&self, header: &KnownText) -> Span {
        match &self.site.headers {
            Some(headers) if header.path != self.site.module.path => headers.span,
            _ => header.span,
        }
    }

    pub fn publishes(&self) -> bool {
        self.site.action == CallAction::Publish
    }

    pub fn place(&self, span: Span) -> SourcePlace {
        SourcePlace { path: self.site.module.path.clone(), span }
    }

    /// Where to report a text: where it is written, if that is at the call; else at the argument, with a look at the other place.
    pub fn place_of(&self, text: &KnownText, argument: Span) -> (SourcePlace, Option<(SourcePlace, String)>) {
        let is_here = text.path == self.site.module.path;
        if is_here && text.span.start >= argument.start && text.span.end <= argument.end {
            return (self.place(text.span), None);
        }
        let written = SourcePlace { path: text.path.clone(), span: text.span };
        (self.place(argument), Some((written, "it is written here".to_owned())))
    }
}

impl RuleContext<'_> {
    pub fn is_on(&self, rule: RuleId) -> bool {
        self.settings.severity(rule) != Severity::Off
    }

    /// Whether the configuration lets a rule leave this topic, header or group alone.
    pub fn is_allowed(&self, rule: RuleId, name: &str) -> bool {
        let allowed = self.settings.allow.get(&rule).map_or(&[][..], Vec::as_slice);
        allowed
            .iter()
            .any(|pattern| pattern == name || TopicPattern::parse(pattern).is_ok_and(|pattern| pattern.matches(name)))
    }

    pub fn report(&self, rule: RuleId, place: SourcePlace, message: impl Into<String>, fix: impl Into<String>) {
        self.push(Finding {
            rule,
            severity: self.settings.severity(rule),
            place,
            message: message.into(),
            fix: fix.into(),
            related: None,
            edit: None,
        });
    }

    /// About a text at a call.
    pub fn report_text(
        &self,
        rule: RuleId,
        site: &SiteFacts,
        (text, argument): (&KnownText, Span),
        message: impl Into<String>,
        fix: impl Into<String>,
        replacement: Option<String>,
    ) {
        let (place, related) = site.place_of(text, argument);
        // What is written elsewhere may be used for something else there.
        let at_call = related.is_none() && site.holds(text.span);
        let edit = replacement.filter(|_| at_call).and_then(|replacement| edit_of(text, replacement));
        let (message, fix) = (message.into(), fix.into());
        let severity = self.settings.severity(rule);
        self.push(Finding { rule, severity, place, message, fix, related, edit });
    }

    pub fn push(&self, finding: Finding) {
        if finding.severity == Severity::Off {
            return;
        }
        self.findings.lock().unwrap_or_else(PoisonError::into_inner).push(finding);
    }

    pub fn mention(&self, topic: impl Into<String>) {
        self.mentioned.lock().unwrap_or_else(PoisonError::into_inner).insert(topic.into());
    }

    /// Whether code names the topic, or subscribes to a pattern that matches it.
    pub fn is_mentioned(&self, topic: &str) -> bool {
        let mentioned = self.mentioned.lock().unwrap_or_else(PoisonError::into_inner);
        mentioned.contains(topic)
            || mentioned.iter().any(|pattern| {
                pattern.contains('*') && TopicPattern::parse(pattern).is_ok_and(|pattern| pattern.matches(topic))
            })
    }

    /// From the root of the project, for messages.
    pub fn shown(&self, path: &std::path::Path) -> String {
        let below: PathBuf = path.strip_prefix(&self.settings.root).unwrap_or(path).to_path_buf();
        below.display().to_string()
    }
}

/// Only where the literal is written as it is meant: in quotes, without escapes. Keys of objects may be without quotes.
fn edit_of(text: &KnownText, replacement: String) -> Option<Edit> {
    let whole = text.whole()?;
    let written = (text.span.end - text.span.start) as usize;
    let span = match written.checked_sub(whole.len())? {
        2 if text.is_literal => Span::new(text.span.start + 1, text.span.end - 1),
        _ => return None,
    };
    Some(Edit { place: SourcePlace { path: text.path.clone(), span }, text: replacement })
}
