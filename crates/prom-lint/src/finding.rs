//! What the linter reports.

use std::path::PathBuf;

use serde::Serialize;

use crate::record::Span;
use crate::rules::RuleId;
use crate::settings::Severity;

/// A place in a file, for people: lines and characters from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct LineColumn {
    pub line: u32,
    pub column: u32,
}

/// A span of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourcePlace {
    /// As it was found; shown from the root of the project.
    pub path: PathBuf,
    pub span: Span,
}

/// What to put where, so that the finding is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub place: SourcePlace,
    pub text: String,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub rule: RuleId,
    pub severity: Severity,
    pub place: SourcePlace,
    pub message: String,
    /// How to put it right.
    pub fix: String,
    /// Another place that explains it, and what is there.
    pub related: Option<(SourcePlace, String)>,
    /// Applied by `--fix`.
    pub edit: Option<Edit>,
}

/// Lines of a text, for places.
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    pub fn new(text: &str) -> Self {
        let after_breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at as u32 + 1);
        Self { starts: std::iter::once(0).chain(after_breaks).collect() }
    }

    /// Columns count characters.
    pub fn place(&self, text: &str, offset: u32) -> LineColumn {
        let offset = offset.min(text.len() as u32);
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts[line - 1] as usize;
        let mut end = offset as usize;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        LineColumn { line: line as u32, column: text[start..end].chars().count() as u32 + 1 }
    }

    /// The bytes of a line, from 1, without its end.
    pub fn line<'t>(&self, text: &'t str, line: u32) -> &'t str {
        let start = self.starts.get(line as usize - 1).copied().unwrap_or(text.len() as u32) as usize;
        let end = self.starts.get(line as usize).copied().unwrap_or(text.len() as u32) as usize;
        text[start..end].trim_end_matches(['\n', '\r'])
    }

    /// The line of an offset, from 1.
    pub fn line_of(&self, offset: u32) -> u32 {
        self.starts.partition_point(|start| *start <= offset) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let text = "a\nä→b\r\n\n";
        let lines = LineIndex::new(text);
        let at = |offset| {
            let place = lines.place(text, offset);
            (place.line, place.column)
        };
        assert_eq!((at(0), at(1), at(2), at(7)), ((1, 1), (1, 2), (2, 1), (2, 3)));
        assert_eq!((at(10), at(99)), ((3, 1), (4, 1)));
        assert_eq!(lines.line(text, 2), "ä→b");
    }
}
