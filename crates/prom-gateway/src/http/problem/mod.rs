//! What a refused request gets: a problem document (RFC 9457) with one of the protocol's codes.
//!
//! Promises: every refusal of this API is one of these, also unknown paths and wrong methods; the
//! detail says what is wrong, where, and how to put it right; a refused request has changed nothing
//! unless `stored` says that it may have.

mod mapping;

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
pub(crate) use prom_protocol::ErrorCode as Code;
use prom_protocol::http::problem::ProblemDocument;

use super::forward::ServedAt;

/// A refusal on its way out. One pointer wide, as it travels through every `Result` of this API.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem(Box<Refusal>);

#[derive(Debug, Clone, PartialEq)]
struct Refusal {
    document: ProblemDocument,
    /// The hub that would answer.
    served_at: Option<String>,
}

/// Details quote what came from outside; however long that was, a problem stays small.
const DETAIL_BYTES: usize = 1000;

fn shortened(mut detail: String) -> String {
    if detail.len() > DETAIL_BYTES {
        detail.truncate(detail.floor_char_boundary(DETAIL_BYTES));
        detail.push('…');
    }
    detail
}

impl Problem {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let document = ProblemDocument::new(code, shortened(detail.into()));
        Self(Box::new(Refusal { document, served_at: None }))
    }

    /// As it is written into an answer.
    pub fn document(&self) -> &ProblemDocument {
        &self.0.document
    }

    pub fn into_document(self) -> ProblemDocument {
        self.0.document
    }

    /// A field, parameter or attribute that is missing or wrong.
    pub fn field(name: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        let name = name.into();
        let mut problem = Self::new(Code::BadRequest, format!("{name}: {reason}"));
        problem.0.document.field = Some(name);
        problem
    }

    pub fn with_field(mut self, name: impl Into<String>) -> Self {
        self.0.document.field = Some(name.into());
        self
    }

    /// For refusals that HTTP knows by a status of their own.
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.0.document.status = status.as_u16();
        self
    }

    pub fn at(mut self, index: usize) -> Self {
        self.0.document.index = Some(index as u64);
        self
    }

    pub fn retry_after(mut self, millis: u64) -> Self {
        self.0.document.retry_after_ms = Some(millis);
        self
    }

    /// No such path.
    pub fn no_such_path(path: &str) -> Self {
        let detail = format!("there is nothing at {path:?}; /openapi.json lists all routes");
        Self::new(Code::BadRequest, detail).with_status(StatusCode::NOT_FOUND)
    }

    pub fn wrong_method(method: &http::Method) -> Self {
        let detail = format!("{method} is not allowed here; the Allow header lists the allowed methods");
        Self::new(Code::BadRequest, detail).with_status(StatusCode::METHOD_NOT_ALLOWED)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Refusal { document, served_at } = *self.0;
        let status = StatusCode::from_u16(document.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if status == StatusCode::INTERNAL_SERVER_ERROR {
            tracing::error!(detail = document.detail, "a request failed");
        }
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(millis) = document.retry_after_ms {
            headers.insert(RETRY_AFTER, HeaderValue::from(millis.div_ceil(1000)));
        }
        if let Some(url) = served_at {
            response.extensions_mut().insert(ServedAt(url));
            return response;
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// The problem documents that any route with rights may answer.
#[derive(utoipa::IntoResponses)]
#[allow(dead_code, reason = "read by the OpenAPI generator only")]
pub(crate) enum Problems {
    /// Something in the request is missing or wrong; `field` names it.
    #[response(status = 400, content_type = "application/problem+json")]
    BadRequest(ProblemDocument),
    /// No token, or one that is not valid (any more).
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthorized(ProblemDocument),
    /// The token's rights do not cover this.
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(ProblemDocument),
    /// The topic, the group or the event does not exist.
    #[response(status = 404, content_type = "application/problem+json")]
    Unknown(ProblemDocument),
    /// The hub cannot do this now; try again.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(ProblemDocument),
}

/// What publishing may answer besides.
#[derive(utoipa::IntoResponses)]
#[allow(dead_code, reason = "read by the OpenAPI generator only")]
pub(crate) enum PublishProblems {
    /// The partition or the key is not as `opts.expect` says; `actual` says how it is. Nothing was stored.
    #[response(status = 409, content_type = "application/problem+json")]
    Conflict(ProblemDocument),
    /// The body, an item or a payload is above its limit.
    #[response(status = 413, content_type = "application/problem+json")]
    TooLarge(ProblemDocument),
    /// Too many events for the connection, the topic or the subject; `retry_after_ms` says how long to wait.
    #[response(status = 429, content_type = "application/problem+json")]
    RateLimited(ProblemDocument),
}
