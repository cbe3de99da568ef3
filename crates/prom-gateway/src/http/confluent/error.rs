//! A refusal in Confluent's shape, with Confluent's codes.

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use prom_engine::Error;
use prom_protocol::http::confluent::{self, ConfluentProblem};
use prom_schema::SchemaError;
use prom_schema::compat::Violation;

use crate::http::problem::Problem;

/// What the client is told. The status is the beginning of the code.
#[derive(Debug)]
pub struct ConfluentRefusal {
    status: u16,
    problem: ConfluentProblem,
    retry_after_ms: Option<u64>,
}

impl ConfluentRefusal {
    fn new(status: u16, error_code: u32, message: impl Into<String>) -> Self {
        Self { status, problem: ConfluentProblem { error_code, message: message.into() }, retry_after_ms: None }
    }

    pub fn subject_not_found(subject: &str) -> Self {
        Self::new(404, 40401, format!("Subject '{subject}' not found."))
    }

    pub fn version_not_found(version: impl std::fmt::Display) -> Self {
        Self::new(404, 40402, format!("Version {version} not found."))
    }

    pub fn schema_not_found() -> Self {
        Self::new(404, 40403, "Schema not found")
    }

    pub fn subject_soft_deleted(subject: &str) -> Self {
        Self::new(404, 40404, format!("Subject '{subject}' was soft deleted. Set permanent=true to delete permanently"))
    }

    pub fn subject_not_soft_deleted(subject: &str) -> Self {
        let message = format!("Subject '{subject}' was not deleted first before being permanently deleted");
        Self::new(404, 40405, message)
    }

    pub fn version_soft_deleted(subject: &str, version: u32) -> Self {
        let message =
            format!("Subject '{subject}' Version {version} was soft deleted. Set permanent=true to delete permanently");
        Self::new(404, 40406, message)
    }

    pub fn version_not_soft_deleted(subject: &str, version: u32) -> Self {
        let message =
            format!("Subject '{subject}' Version {version} was not deleted first before being permanently deleted");
        Self::new(404, 40407, message)
    }

    pub fn no_config(subject: &str) -> Self {
        let message = format!("Subject '{subject}' does not have subject-level compatibility configured");
        Self::new(404, 40408, message)
    }

    pub fn no_mode(subject: &str) -> Self {
        Self::new(404, 40409, format!("Subject '{subject}' does not have subject-level mode configured"))
    }

    pub fn incompatible(subject: &str, violations: &[Violation]) -> Self {
        let details = violations.iter().map(in_words).collect::<Vec<_>>().join("; ");
        let message = format!(
            "Schema being registered is incompatible with an earlier schema for subject \"{subject}\", details: {details}"
        );
        Self::new(409, 409, message)
    }

    pub fn invalid_schema(reason: impl std::fmt::Display) -> Self {
        Self::new(422, 42201, format!("Invalid schema: {reason}"))
    }

    pub fn invalid_version(version: &str) -> Self {
        let version: String = version.chars().take(64).collect();
        let message = format!(
            "The specified version '{version}' is not a valid version id. Allowed values are between [1, 2^31-1] and the \
             string \"latest\""
        );
        Self::new(422, 42202, message)
    }

    pub fn invalid_level(reason: impl std::fmt::Display) -> Self {
        Self::new(422, 42203, format!("Invalid compatibility level: {reason}"))
    }

    /// Of a registration or a check: what the schema asks for cannot be had.
    pub fn of_candidate(error: Error) -> Self {
        match error {
            Error::SchemaChange { .. } => Self::invalid_schema(error),
            other => other.into(),
        }
    }

    pub fn not_permitted(reason: impl std::fmt::Display) -> Self {
        Self::new(422, 42205, reason.to_string())
    }

    pub fn reference_exists(subject: &str, version: u32) -> Self {
        Self::new(422, 42206, format!("One or more references exist to the schema {subject}, version {version}"))
    }

    pub fn invalid_subject(subject: &str, reason: impl std::fmt::Display) -> Self {
        let subject: String = subject.chars().take(128).collect();
        Self::new(422, 42208, format!("The specified subject '{subject}' is not a valid subject: {reason}"))
    }
}

/// One sentence for people.
pub fn in_words(violation: &Violation) -> String {
    let place = if violation.pointer.is_empty() { "the schema" } else { &violation.pointer };
    let against = violation.against_version.map_or_else(String::new, |version| format!(", against version {version}"));
    format!("{place}: {} (rule {}{against}); {}", violation.message, violation.rule.id(), violation.fix)
}

impl From<SchemaError> for ConfluentRefusal {
    fn from(error: SchemaError) -> Self {
        match error {
            SchemaError::TooLarge { .. } => Self::new(422, 42209, error.to_string()),
            error => Self::invalid_schema(error),
        }
    }
}

/// Codes that depend on the subject are given by the routes; this is the rest.
impl From<Error> for ConfluentRefusal {
    fn from(error: Error) -> Self {
        match error {
            Error::SchemaIncompatible { topic, violations } => Self::incompatible(&topic, &violations),
            Error::Schema(error) => error.into(),
            Error::SchemaReferred { topic, version, .. } => Self::reference_exists(&topic, version),
            Error::SchemaChange { .. } => Self::not_permitted(error),
            Error::UnknownSchema { topic, version: None } => Self::subject_not_found(&topic),
            Error::UnknownSchema { version: Some(version), .. } => Self::version_not_found(version),
            Error::UnknownSchemaId { .. } => Self::schema_not_found(),
            other => Problem::from(other).into(),
        }
    }
}

impl From<Problem> for ConfluentRefusal {
    fn from(problem: Problem) -> Self {
        let document = problem.into_document();
        let status = u32::from(document.status);
        let error_code = match document.status {
            401 | 403 | 500 | 503 => status * 100 + 1,
            _ => status,
        };
        let refused = Self::new(document.status, error_code, document.detail);
        Self { retry_after_ms: document.retry_after_ms, ..refused }
    }
}

impl IntoResponse for ConfluentRefusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            tracing::error!(detail = self.problem.message, "a request to the schema registry failed");
        }
        let body = serde_json::to_vec(&self.problem).unwrap_or_default();
        let mut response = (status, [(CONTENT_TYPE, confluent::CONTENT_TYPE)], body).into_response();
        if let Some(millis) = self.retry_after_ms {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(millis.div_ceil(1000)));
        }
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
