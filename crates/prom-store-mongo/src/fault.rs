//! What the driver's errors mean: to a commit, and to people.

use mongodb::error::{
    Error, ErrorKind, NO_WRITES_PERFORMED, RETRYABLE_WRITE_ERROR, TRANSIENT_TRANSACTION_ERROR, WriteFailure,
};
use prom_store::{CommitError, Outcome, StoreError};

const DUPLICATE_KEY: i32 = 11000;
const UNAUTHORIZED: i32 = 13;
const AUTHENTICATION_FAILED: i32 = 18;
const NAMESPACE_EXISTS: i32 = 48;
const CHANGE_STREAM_FATAL: i32 = 280;
const CHANGE_STREAM_HISTORY_LOST: i32 = 286;
/// Shutting down, stepping down, no longer or not yet primary, interrupted by one of these.
const UNSETTLED_SERVER: [i32; 12] = [6, 7, 89, 91, 189, 262, 9001, 10058, 10107, 11600, 11602, 13435];
/// A message is for one line of a log.
const REASON_CHARS: usize = 400;

/// What a failed write says about the write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failed {
    /// A document with this key is there.
    Duplicate,
    /// The server did not get it, or could not take it now. Trying again is right.
    NotNow,
    /// It may have been done. The same write again tells.
    Unknown,
    /// It was refused, and would be again.
    Refused,
}

pub fn of_write(error: &Error) -> Failed {
    if error.contains_label(TRANSIENT_TRANSACTION_ERROR) || error.contains_label(NO_WRITES_PERFORMED) {
        return Failed::NotNow;
    }
    match error.kind.as_ref() {
        _ if code(error) == Some(DUPLICATE_KEY) => Failed::Duplicate,
        ErrorKind::ServerSelection { .. } | ErrorKind::DnsResolve { .. } => Failed::NotNow,
        ErrorKind::Io(_) | ErrorKind::ConnectionPoolCleared { .. } | ErrorKind::InvalidResponse { .. } => {
            Failed::Unknown
        }
        ErrorKind::Write(WriteFailure::WriteConcernError(_)) => Failed::Unknown,
        _ if error.contains_label(RETRYABLE_WRITE_ERROR) => Failed::Unknown,
        _ if code(error).is_some_and(|code| UNSETTLED_SERVER.contains(&code)) => Failed::Unknown,
        _ => Failed::Refused,
    }
}

/// Whether a read can be tried again.
pub fn is_passing(error: &Error) -> bool {
    matches!(of_write(error), Failed::NotNow | Failed::Unknown)
}

pub fn is_namespace_exists(error: &Error) -> bool {
    code(error) == Some(NAMESPACE_EXISTS)
}

/// The place where the stream stood is gone from the server's memory.
pub fn is_stream_lost(error: &Error) -> bool {
    matches!(code(error), Some(CHANGE_STREAM_FATAL | CHANGE_STREAM_HISTORY_LOST))
        || matches!(error.kind.as_ref(), ErrorKind::MissingResumeToken)
}

pub fn is_about_exact_ids(error: &Error) -> bool {
    error.kind.to_string().contains(crate::open::EXACT_INDEX)
}

pub fn code(error: &Error) -> Option<i32> {
    match error.kind.as_ref() {
        ErrorKind::Command(command) => Some(command.code),
        ErrorKind::Write(WriteFailure::WriteError(write)) => Some(write.code),
        ErrorKind::InsertMany(many) => many.write_errors.as_ref().and_then(|errors| errors.first()).map(|e| e.code),
        _ => None,
    }
}

/// In one line.
pub fn reason(error: &Error) -> String {
    let text = error.kind.to_string().replace('\n', " ");
    match text.char_indices().nth(REASON_CHARS) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

/// The error as people get it, with what to do.
pub fn explain(error: &Error) -> StoreError {
    let (what, fix) = match error.kind.as_ref() {
        ErrorKind::Authentication { .. } => (
            "MongoDB does not accept the user name or the password",
            "look at user, password and authSource in the connection string",
        ),
        _ if code(error) == Some(AUTHENTICATION_FAILED) => (
            "MongoDB does not accept the user name or the password",
            "look at user, password and authSource in the connection string",
        ),
        _ if code(error) == Some(UNAUTHORIZED) => (
            "the MongoDB user lacks rights",
            "give it the role readWrite on the database that the connection string names",
        ),
        ErrorKind::InvalidArgument { .. } | ErrorKind::InvalidTlsConfig { .. } => {
            ("the MongoDB connection string cannot be used", "correct it; it begins with mongodb:// or mongodb+srv://")
        }
        _ if is_passing(error) => (
            "MongoDB cannot be reached",
            "see that the servers run, that the addresses are right and that the set has a primary",
        ),
        _ => ("MongoDB refused a command", "the reason is the server's; its log says more"),
    };
    StoreError::Server { what, reason: reason(error), fix }
}

/// A commit that failed.
pub fn commit_failed(error: &Error, outcome: Outcome) -> CommitError {
    CommitError::Failed { reason: explain(error).to_string(), outcome }
}

/// A document that is not as this store writes it.
pub fn unreadable(what: impl std::fmt::Display) -> StoreError {
    StoreError::Server {
        what: "MongoDB holds a document that is not as the store writes it",
        reason: what.to_string(),
        fix: "restore it from a backup, or delete it if it is not the hub's",
    }
}

/// A call that got no answer in time.
pub fn timed_out() -> Error {
    std::io::Error::from(std::io::ErrorKind::TimedOut).into()
}
