//! What the driver's errors mean for a commit, and how they are explained to people.

use mongodb::error::{
    Error, ErrorKind, NO_WRITES_PERFORMED, RETRYABLE_WRITE_ERROR, TRANSIENT_TRANSACTION_ERROR, WriteFailure,
};
use prom_store::{CommitError, Outcome, StoreError};

use crate::limits::REASON_CHARS;

const DUPLICATE_KEY: i32 = 11000;
const UNAUTHORIZED: i32 = 13;
const AUTHENTICATION_FAILED: i32 = 18;
const INDEX_NOT_FOUND: i32 = 27;
const NAMESPACE_EXISTS: i32 = 48;
const INVALID_RESUME_TOKEN: i32 = 260;
const CHANGE_STREAM_FATAL: i32 = 280;
const CHANGE_STREAM_HISTORY_LOST: i32 = 286;
/// Shutting down, stepping down, no longer or not yet primary, interrupted by one of these.
const UNSETTLED_SERVER: [i32; 12] = [6, 7, 89, 91, 189, 262, 9001, 10058, 10107, 11600, 11602, 13435];

/// What an error says about the write that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedWrite {
    /// A document with this key exists.
    Duplicate,
    /// The server did not get it, or could not take it now. A retry is right.
    NotNow,
    /// It may have been done. The same write again tells.
    Unknown,
    /// It was refused, and would be again.
    Refused,
}

pub fn of_write(error: &Error) -> FailedWrite {
    if error.contains_label(TRANSIENT_TRANSACTION_ERROR) || error.contains_label(NO_WRITES_PERFORMED) {
        return FailedWrite::NotNow;
    }
    match error.kind.as_ref() {
        _ if code(error) == Some(DUPLICATE_KEY) => FailedWrite::Duplicate,
        ErrorKind::ServerSelection { .. } | ErrorKind::DnsResolve { .. } => FailedWrite::NotNow,
        ErrorKind::Io(_) | ErrorKind::ConnectionPoolCleared { .. } | ErrorKind::InvalidResponse { .. } => {
            FailedWrite::Unknown
        }
        ErrorKind::Write(WriteFailure::WriteConcernError(_)) => FailedWrite::Unknown,
        _ if error.contains_label(RETRYABLE_WRITE_ERROR) => FailedWrite::Unknown,
        _ if code(error).is_some_and(|code| UNSETTLED_SERVER.contains(&code)) => FailedWrite::Unknown,
        _ => FailedWrite::Refused,
    }
}

/// Whether a read can be tried again.
pub fn is_passing(error: &Error) -> bool {
    matches!(of_write(error), FailedWrite::NotNow | FailedWrite::Unknown)
}

pub fn is_namespace_exists(error: &Error) -> bool {
    code(error) == Some(NAMESPACE_EXISTS)
}

pub fn is_index_not_found(error: &Error) -> bool {
    code(error) == Some(INDEX_NOT_FOUND)
}

/// The stream's position is gone from the server's log.
pub fn is_stream_lost(error: &Error) -> bool {
    matches!(code(error), Some(INVALID_RESUME_TOKEN | CHANGE_STREAM_FATAL | CHANGE_STREAM_HISTORY_LOST))
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

/// The error on one line.
pub fn reason(error: &Error) -> String {
    let text = error.kind.to_string().replace('\n', " ");
    match text.char_indices().nth(REASON_CHARS) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

/// The error of a connection string.
pub fn explain_address(error: &Error) -> StoreError {
    match error.kind.as_ref() {
        ErrorKind::InvalidArgument { .. } | ErrorKind::InvalidTlsConfig { .. } => StoreError::Server {
            what: "the MongoDB connection string cannot be used",
            reason: reason(error),
            fix: "correct it; it begins with mongodb:// or mongodb+srv://",
        },
        _ => explain(error),
    }
}

/// The error for people, with what to do.
pub fn explain(error: &Error) -> StoreError {
    let (what, fix) = match error.kind.as_ref() {
        ErrorKind::Authentication { .. } => (
            "MongoDB does not accept the user name or the password",
            "check user, password and authSource in the connection string",
        ),
        _ if code(error) == Some(AUTHENTICATION_FAILED) => (
            "MongoDB does not accept the user name or the password",
            "check user, password and authSource in the connection string",
        ),
        _ if code(error) == Some(UNAUTHORIZED) => (
            "the MongoDB user lacks rights",
            "give it the role readWrite on the database that the connection string names",
        ),
        _ if is_passing(error) => (
            "MongoDB cannot be reached",
            "check that the servers run, that the addresses are right and that the set has a primary",
        ),
        ErrorKind::InvalidArgument { .. } => {
            ("the MongoDB driver refused a command", "report this as a fault of the hub")
        }
        _ => ("MongoDB refused a command", "the server gave this reason; its log says more"),
    };
    StoreError::Server { what, reason: reason(error), fix }
}

/// A commit that failed.
pub fn commit_failed(error: &Error, outcome: Outcome) -> CommitError {
    CommitError::Failed { reason: explain(error).to_string(), outcome }
}

/// A document that does not have the form that this store writes.
pub fn unreadable(what: impl std::fmt::Display) -> StoreError {
    StoreError::Server {
        what: "MongoDB holds a document that the store did not write in this form",
        reason: what.to_string(),
        fix: "restore it from a backup, or delete it if it is not the hub's",
    }
}

/// A call that got no answer in time.
pub fn timed_out() -> Error {
    std::io::Error::from(std::io::ErrorKind::TimedOut).into()
}
