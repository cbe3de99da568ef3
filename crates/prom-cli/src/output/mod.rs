//! What a command prints: tables for people, JSON for machines, colour only on a terminal.
//!
//! Promise: standard output carries the answer and nothing else; progress and errors go to standard error.

mod progress;
mod table;

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

pub use progress::Progress;
pub use table::{Align, Table};

use crate::exit::{CommandResult, Failure};

/// Who reads standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    People,
    Machines,
}

/// Whether colours and moving the cursor make sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Plain,
    Coloured,
}

#[derive(Debug, Clone, Copy)]
pub struct Output {
    pub format: OutputFormat,
    pub style: Style,
}

impl Output {
    pub fn new(format: OutputFormat) -> Self {
        Self { format, style: Style::of(&io::stdout()) }
    }

    pub fn is_for_machines(&self) -> bool {
        self.format == OutputFormat::Machines
    }

    /// One line of text.
    pub fn line(&self, text: impl AsRef<str>) -> CommandResult {
        self.text(&format!("{}\n", text.as_ref()))
    }

    /// One value as one line of JSON.
    pub fn json(&self, value: &impl Serialize) -> CommandResult {
        let text = serde_json::to_string(value).map_err(|error| Failure::no(format!("not JSON: {error}")))?;
        self.line(text)
    }

    pub fn table(&self, table: &Table) -> CommandResult {
        self.text(&table.render(self.style))
    }

    pub fn text(&self, text: &str) -> CommandResult {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        Ok(stdout.flush()?)
    }
}

impl Style {
    fn of(stream: &impl IsTerminal) -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if stream.is_terminal() && !unwanted { Self::Coloured } else { Self::Plain }
    }

    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Coloured => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

/// Tells people why a command failed. A closed standard error is ignored.
pub fn complain(failure: &Failure) {
    if let Some(text) = failure.text() {
        let label = Style::of(&io::stderr()).red("error:");
        drop(writeln!(io::stderr().lock(), "{label} {text}"));
    }
}

/// A number with its noun, such as `1 event` and `2 events`.
pub fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Something for people beside the answer.
pub fn note(text: impl AsRef<str>) {
    drop(writeln!(io::stderr().lock(), "{}", text.as_ref()));
}

/// What comes from events and handlers must not steer the terminal or break a table.
pub fn printable(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}
