//! The rules, one file each: what it says, its page, and the check.

mod dlq_direct_publish;
mod group_name;
mod header_name;
mod header_reserved;
mod ignore_unused;
mod parse_error;
mod payload_mismatch;
mod schema_drift;
mod schema_incompatible;
mod schema_unreadable;
mod schema_unused;
mod topic_name;
mod topic_unmentioned;
mod topic_unregistered;
mod topic_unresolved;
mod topic_unserved;
mod upcaster_gap;
mod version_suffix;

mod context;
mod page;

use std::fmt;

use serde::{Serialize, Serializer};

pub use context::{RuleContext, SiteFacts};
pub use page::{page, pages};

use crate::settings::Severity;

/// What people read about a rule.
#[derive(Debug, Clone, Copy)]
pub struct LintRuleText {
    /// Stable: part of configuration, remarks and addresses.
    pub id: &'static str,
    pub title: &'static str,
    pub explanation: &'static str,
    pub bad: Sample,
    pub good: Sample,
    pub fix: &'static str,
    /// If the configuration says nothing.
    pub severity: Severity,
    pub is_fixable: bool,
    pub asked: Asked,
}

/// Code on a rule's page.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    pub language: &'static str,
    pub code: &'static str,
}

/// When a rule can say something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Always,
    /// The project has schemas.
    WithSchemas,
    /// With `--hub URL`.
    WithHub,
}

macro_rules! rules {
    ($($variant:ident = $module:ident),+ $(,)?) => {
        /// Names a rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RuleId {
            $($variant),+
        }

        impl RuleId {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub fn text(self) -> &'static LintRuleText {
                match self {
                    $(Self::$variant => &$module::TEXT),+
                }
            }
        }
    };
}

rules! {
    TopicName = topic_name,
    TopicUnregistered = topic_unregistered,
    TopicUnresolved = topic_unresolved,
    VersionSuffix = version_suffix,
    DlqDirectPublish = dlq_direct_publish,
    HeaderName = header_name,
    HeaderReserved = header_reserved,
    GroupName = group_name,
    PayloadMismatch = payload_mismatch,
    SchemaIncompatible = schema_incompatible,
    SchemaUnused = schema_unused,
    SchemaUnreadable = schema_unreadable,
    UpcasterGap = upcaster_gap,
    TopicUnserved = topic_unserved,
    TopicUnmentioned = topic_unmentioned,
    SchemaDrift = schema_drift,
    IgnoreUnused = ignore_unused,
    ParseError = parse_error,
}

impl RuleId {
    pub fn id(self) -> &'static str {
        self.text().id
    }

    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.id() == id)
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

/// Everything about one place in the code.
pub fn check_site(context: &RuleContext<'_>, site: &SiteFacts) {
    topic_name::check(context, site);
    topic_unresolved::check(context, site);
    topic_unregistered::check(context, site);
    version_suffix::check(context, site);
    dlq_direct_publish::check(context, site);
    header_name::check(context, site);
    header_reserved::check(context, site);
    group_name::check(context, site);
    payload_mismatch::check(context, site);
    topic_unserved::check(context, site);
}

/// Everything about the project as a whole, when all code is known.
pub fn check_project(context: &RuleContext<'_>) {
    schema_unreadable::check(context);
    schema_incompatible::check(context);
    upcaster_gap::check(context);
    schema_unused::check(context);
    topic_unmentioned::check(context);
    schema_drift::check(context);
}

pub use parse_error::check as check_readable;

pub(crate) use ignore_unused::finding as unused_ignore;
