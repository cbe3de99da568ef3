//! What went wrong, as a client is told: one mapping for WebSocket and HTTP.

use prom_auth::AuthError;
use prom_engine::Error;
use prom_protocol::ErrorCode;
use prom_protocol::frame::err::{MaybeStored, Problem, SchemaMisfit};
use prom_store::Outcome;
use prom_types::Invalid;

/// The code of an error of the bus.
pub fn code_of(error: &Error) -> ErrorCode {
    match error {
        Error::Invalid(Invalid::TooLarge { .. }) => ErrorCode::TooLarge,
        Error::UnknownTopic { .. }
        | Error::UnknownGroup { .. }
        | Error::UnknownMember { .. }
        | Error::NotOfTheGroup { .. }
        | Error::UnknownSchema { .. }
        | Error::UnknownSchemaId { .. }
        | Error::UnknownEvent { .. } => ErrorCode::UnknownTopic,
        // Sending it again does not help before somebody raises the cap or deletes something.
        Error::Capped { .. } => ErrorCode::Forbidden,
        Error::Unmet { .. } | Error::CursorElsewhere { .. } => ErrorCode::Conflict,
        Error::SchemaInvalid { .. } => ErrorCode::SchemaInvalid,
        Error::SchemaIncompatible { .. } => ErrorCode::SchemaIncompatible,
        Error::NotLeased { .. } => ErrorCode::UnknownId,
        Error::Fenced { .. }
        | Error::Revoked { .. }
        | Error::MemberExpired { .. }
        | Error::Kicked { .. }
        | Error::ServedElsewhere { .. }
        | Error::LostGroup { .. }
        | Error::Restarted { .. } => ErrorCode::Fenced,
        Error::PublishFailed { .. } => ErrorCode::PublishFailed,
        Error::AckFailed { .. } => ErrorCode::AckFailed,
        Error::Contended { .. } | Error::Conflict { .. } | Error::NotReady { .. } | Error::Closed => {
            ErrorCode::Overloaded
        }
        Error::Store(_) | Error::Document { .. } | Error::Incomplete { .. } | Error::CloseFailed { .. } => {
            ErrorCode::Internal
        }
        Error::Invalid(_)
        | Error::CursorBeyondEnd { .. }
        | Error::OptionConflict { .. }
        | Error::BadOption { .. }
        | Error::TopicChange { .. }
        | Error::GroupChange { .. }
        | Error::KeyRequired { .. }
        | Error::NotALetter { .. }
        | Error::TopicKey { .. }
        | Error::Filter(_)
        | Error::Schema(_)
        | Error::SchemaChange { .. }
        | Error::SchemaReferred { .. }
        | Error::Payload { .. } => ErrorCode::BadRequest,
    }
}

pub fn of_bus(error: &Error) -> Problem {
    let stored = match error {
        Error::PublishFailed { stored: Outcome::NotStored, .. } => Some(MaybeStored::No),
        Error::PublishFailed { .. } => Some(MaybeStored::Unknown),
        _ => None,
    };
    let msg = match error {
        Error::Closed => "the hub is shutting down; connect again in a moment".to_owned(),
        // Whose schema refers to it may be another's secret.
        Error::SchemaReferred { topic, version, .. } => {
            format!("version {version} of the schema of {topic} is referred to by other schemas; delete those first")
        }
        other => other.to_string(),
    };
    let misfit = match error {
        Error::SchemaInvalid { version, refusal, .. } => Some(Box::new(SchemaMisfit {
            version: *version,
            pointer: refusal.pointer.clone(),
            rule: refusal.rule.clone(),
            value: refusal.value.clone(),
        })),
        _ => None,
    };
    let actual = match error {
        Error::Unmet { actual, .. } => Some(*actual),
        _ => None,
    };
    Problem { stored, misfit, actual, ..Problem::new(code_of(error), msg) }
}

pub fn of_auth(error: &AuthError) -> Problem {
    let code = ErrorCode::parse(error.code()).unwrap_or(ErrorCode::Internal);
    Problem::new(code, error.to_string())
}
