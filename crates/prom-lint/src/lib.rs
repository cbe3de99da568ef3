//! The linter under `prom lint`: reads source code, `prom.toml` and schema folders, and reports what a hub would refuse or what
//! its readers would miss.
//!
//! ```text
//!   walk ─▶ words ─▶ parse, or cache ─▶ record ─┐
//!                                               ├─▶ resolve what calls need ─▶ rules ─▶ remarks, baseline ─▶ output
//!   schema folder, prom.toml, git, hub's facts ─┘
//! ```
//!
//! Promises: a call is only reported if it is shown to be ours, by import, type or configuration. What is not known fits.
//! No file, however broken, ends a run. Knows no hub: what a hub has is handed in as plain data ([`LiveHub`]).

pub mod baseline;
mod finding;
pub mod fix;
mod front;
mod limits;
pub mod output;
mod project;
mod record;
mod remarks;
mod resolve;
mod rules;
mod run;
mod settings;
mod sites;
mod walk;

pub use finding::{Edit, Finding, LineColumn, LineIndex, SourcePlace};
pub use project::{HistoryError, HistoryPath, LiveHub, SchemaHistory};
pub use record::Span;
pub use rules::{LintRuleText, RuleId, page, pages};
pub use run::{LintJob, LintReport, LintStatistics, run};
pub use settings::{CallAction, ClientModule, DeclaredStep, DeclaredTopicFacts, LintSettings, Severity, Wrapper};
pub use sites::CallCounts;
