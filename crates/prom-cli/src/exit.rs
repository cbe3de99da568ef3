//! How a command ends: the one place where exit codes are decided.
//!
//! 0 done, 1 the answer is no, 2 wrong usage, 3 the hub cannot be reached or cannot answer, 4 the hub refuses.

use std::io;
use std::process::ExitCode;

use crate::config::ConfigProblems;

/// Why a command did not do what it was asked. The first line says what, the second how to go on.
#[derive(Debug)]
pub enum Failure {
    /// It was looked at, and the answer is no: nothing matched, damage was found, the lag is too large.
    No(FailureText),
    /// The same, and the answer on standard output says all of it.
    Reported,
    /// What was asked makes no sense; nothing was tried.
    Usage(FailureText),
    /// The same, in the configuration.
    Config(ConfigProblems),
    Unreachable(FailureText),
    /// The hub was asked and does not allow it.
    Refused(FailureText),
    /// The reader of the output closed it. That is no error.
    OutputClosed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureText {
    pub what: String,
    pub fix: Option<String>,
}

pub type CommandResult = Result<(), Failure>;

impl Failure {
    pub fn no(what: impl Into<String>) -> Self {
        Self::No(FailureText::new(what))
    }

    pub fn usage(what: impl Into<String>) -> Self {
        Self::Usage(FailureText::new(what))
    }

    pub fn unreachable(what: impl Into<String>) -> Self {
        Self::Unreachable(FailureText::new(what))
    }

    pub fn refused(what: impl Into<String>) -> Self {
        Self::Refused(FailureText::new(what))
    }

    /// How to go on.
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        if let Self::No(message) | Self::Usage(message) | Self::Unreachable(message) | Self::Refused(message) =
            &mut self
        {
            message.fix = Some(fix.into());
        }
        self
    }

    /// How to go on, if the answer was no.
    pub fn fix_no(self, fix: impl Into<String>) -> Self {
        if matches!(self, Self::No(_)) { self.fix(fix) } else { self }
    }

    /// The same about a file, which is named first.
    pub fn at(mut self, path: &std::path::Path) -> Self {
        if let Self::No(message) | Self::Usage(message) | Self::Unreachable(message) | Self::Refused(message) =
            &mut self
        {
            message.what = format!("{}: {}", path.display(), message.what);
        }
        self
    }

    fn code(&self) -> u8 {
        match self {
            Self::OutputClosed => 0,
            Self::No(_) | Self::Reported => 1,
            Self::Usage(_) | Self::Config(_) => 2,
            Self::Unreachable(_) => 3,
            Self::Refused(_) => 4,
        }
    }

    /// What standard error gets; nothing where nothing went wrong.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::OutputClosed | Self::Reported => None,
            Self::Config(problems) => Some(problems.to_string()),
            Self::No(message) | Self::Usage(message) | Self::Unreachable(message) | Self::Refused(message) => {
                Some(match &message.fix {
                    Some(fix) => format!("{}\n  {fix}", message.what),
                    None => message.what.clone(),
                })
            }
        }
    }
}

impl FailureText {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), fix: None }
    }
}

impl From<ConfigProblems> for Failure {
    fn from(problems: ConfigProblems) -> Self {
        Self::Config(problems)
    }
}

/// Of writing to standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::no(format!("the output cannot be written: {error}")),
        }
    }
}

pub fn exit_code(outcome: &CommandResult) -> ExitCode {
    ExitCode::from(outcome.as_ref().err().map_or(0, Failure::code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_the_exit_code_of_its_kind() {
        let failures = [
            (Failure::OutputClosed, 0),
            (Failure::no("a"), 1),
            (Failure::Reported, 1),
            (Failure::usage("a"), 2),
            (Failure::Config(ConfigProblems(Vec::new())), 2),
            (Failure::unreachable("a"), 3),
            (Failure::refused("a"), 4),
        ];
        for (failure, code) in failures {
            assert_eq!(failure.code(), code, "{failure:?}");
        }
    }

    #[test]
    fn the_first_line_says_what_and_the_next_how_to_go_on() {
        let failure = Failure::unreachable("no hub").fix("start one");
        assert_eq!(failure.text().unwrap(), "no hub\n  start one");
        let closed = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(closed.text(), None);
    }
}
