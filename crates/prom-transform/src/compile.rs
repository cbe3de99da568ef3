//! From text to a program, with errors that name the position.
//!
//! Parsing recurses over the text, so it runs on a separate thread whose stack is large enough for the longest text. The
//! thread is joined before this returns.

use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Filter};

use crate::error::CompileError;
use crate::interpreter::Metered;
use crate::limits::{PARSER_STACK_BYTES, PROGRAM_BYTES};
use crate::{natives, recursion};

pub(crate) fn compile(text: &str) -> Result<Filter<Metered>, CompileError> {
    if cfg!(panic = "abort") {
        return Err(CompileError::NoUnwinding);
    }
    if text.len() > PROGRAM_BYTES {
        return Err(CompileError::TooLong { bytes: text.len(), limit: PROGRAM_BYTES });
    }
    std::thread::scope(|scope| {
        let parser = std::thread::Builder::new().name("jq-compile".into()).stack_size(PARSER_STACK_BYTES);
        let parser = parser.spawn_scoped(scope, || parse(text));
        let parser = parser.map_err(|error| CompileError::Internal(format!("no thread for the parser: {error}")))?;
        let panicked = |_| Err(CompileError::Internal("the parser panicked".into()));
        parser.join().unwrap_or_else(panicked)
    })
}

fn parse(text: &str) -> Result<Filter<Metered>, CompileError> {
    let arena = Arena::default();
    let modules = Loader::new(natives::definitions()).load(&arena, File { code: text, path: () });
    let modules = modules.map_err(|errors| load_error(text, errors))?;
    let Some(term) = load::parse(text, |parser| parser.term()) else {
        return Err(at(text, text, "modules cannot be declared or imported here".into()));
    };
    recursion::check(&term).map_err(|(name, reason)| at(text, name, reason))?;
    let compiled = Compiler::default().with_funs(natives::functions()).compile(modules);
    compiled.map_err(|errors| {
        let first = errors.into_iter().flat_map(|(_, errors)| errors).next();
        match first {
            Some((name, undefined)) => at(text, name, format!("undefined {} `{name}`", undefined.as_str())),
            None => CompileError::Internal("no reason given".into()),
        }
    })
}

fn load_error(text: &str, errors: load::Errors<&str, ()>) -> CompileError {
    match errors.into_iter().next().map(|(_, error)| error) {
        Some(load::Error::Io(errors)) => match errors.into_iter().next() {
            Some((name, reason)) => at(text, name, reason),
            None => CompileError::Internal("no reason given".into()),
        },
        Some(load::Error::Lex(errors)) => match errors.into_iter().next() {
            Some((expected, found)) => expectation(text, expected.as_str(), found),
            None => CompileError::Internal("no reason given".into()),
        },
        Some(load::Error::Parse(errors)) => match errors.into_iter().next() {
            Some((expected, found)) => expectation(text, expected.as_str(), found),
            None => CompileError::Internal("no reason given".into()),
        },
        None => CompileError::Internal("no reason given".into()),
    }
}

fn expectation(text: &str, expected: &str, found: &str) -> CompileError {
    let word = match found.split_whitespace().next() {
        Some(word) => format!("`{}`", word.chars().take(20).collect::<String>()),
        None => "the end".into(),
    };
    at(text, found, format!("expected {expected}, found {word}"))
}

/// An error at `part`, which is a slice of `text`.
fn at(text: &str, part: &str, reason: String) -> CompileError {
    let start = part.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
    let before = text.get(..start.min(text.len())).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    CompileError::Invalid {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        reason,
    }
}
