//! What a run prints, one file per format. A format is chosen by name and by nothing else.

mod agent;
mod concise;
mod excerpt;
mod github;
mod human;
mod json;
mod sarif;
mod statistics;
mod texts;

pub use excerpt::Colour;
pub use statistics::statistics;
pub use texts::SourceTexts;

use crate::run::LintReport;

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LintFormat {
    /// With an excerpt of the source.
    Human,
    /// One line each.
    Concise,
    Json,
    /// Static Analysis Results Interchange Format, 2.1.0.
    Sarif,
    /// Annotations of GitHub's workflows.
    Github,
    /// Short, with the fix: for programs that write code.
    Agent,
}

impl LintFormat {
    pub const WORDS: [(&'static str, Self); 6] = [
        ("human", Self::Human),
        ("concise", Self::Concise),
        ("json", Self::Json),
        ("sarif", Self::Sarif),
        ("github", Self::Github),
        ("agent", Self::Agent),
    ];
}

/// The findings in a format, with the line ends that it has.
pub fn render(report: &LintReport, texts: &mut SourceTexts, format: LintFormat, colour: Colour) -> String {
    match format {
        LintFormat::Human => human::render(report, texts, colour),
        LintFormat::Concise => concise::render(report, texts),
        LintFormat::Json => json::render(report, texts),
        LintFormat::Sarif => sarif::render(report, texts),
        LintFormat::Github => github::render(report, texts),
        LintFormat::Agent => agent::render(report, texts),
    }
}
