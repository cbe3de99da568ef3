//! A line of source with its place underlined, in the manner of rustc.

use super::SourceTexts;
use crate::finding::SourcePlace;

/// Whether colours are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Off,
    On,
}

impl Colour {
    pub fn paint(self, code: &str, text: &str) -> String {
        match self {
            Self::Off => text.to_owned(),
            Self::On => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

/// Longer lines are cut around the place.
const WIDTH: usize = 120;

pub(super) const BLUE: &str = "1;34";

/// The arrow line, and the source line with `^^^^` and a label. Nothing of the source if there is none.
pub(super) fn excerpt(
    texts: &mut SourceTexts,
    place: &SourcePlace,
    (mark, label): (char, &str),
    (mark_colour, colour): (&str, Colour),
) -> String {
    let (start, end) = texts.range(place);
    let shown = super::human::printable(&texts.shown(&place.path));
    let (text, lines) = texts.text(&place.path);
    let line = lines.line(text, start.line);
    if line.trim().is_empty() {
        return format!("  {} {shown}\n", colour.paint(BLUE, "-->"));
    }
    let number = start.line.to_string();
    let margin = " ".repeat(number.len());
    let bar = colour.paint(BLUE, "|");
    let column = start.column as usize - 1;
    let length = if end.line == start.line { (end.column as usize - 1).saturating_sub(column).max(1) } else { 1 };
    let from = if column + length > WIDTH { column.saturating_sub(WIDTH / 3) } else { 0 };
    // Tabs would move what stands below them; what steers a terminal must not reach it.
    let visible: String = line
        .chars()
        .skip(from)
        .take(WIDTH)
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    let (before, after) = (if from > 0 { "…" } else { "" }, if line.chars().count() > from + WIDTH { "…" } else { "" });
    let indent = " ".repeat(column - from + before.chars().count());
    let length = length.min(WIDTH.saturating_sub(column - from)).max(1);
    let marks = colour.paint(mark_colour, format!("{} {label}", mark.to_string().repeat(length)).trim_end());
    format!(
        "{margin}{} {shown}:{}:{}\n{margin} {bar}\n{} {bar} {before}{}{after}\n{margin} {bar} {indent}{marks}\n",
        colour.paint(BLUE, "-->"),
        start.line,
        start.column,
        colour.paint(BLUE, &number),
        visible.trim_end(),
    )
}
