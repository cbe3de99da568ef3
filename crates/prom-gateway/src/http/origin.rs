//! Web pages of other origins: who may read answers (CORS), and who may change things at all.
//!
//! CORS alone keeps a foreign page from reading an answer, not from sending a plain POST. So a
//! request that changes something and says that it comes from a page of another origin is refused
//! unless that origin is allowed. Programs send no `Origin` and are not touched.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{CONTENT_TYPE, HOST, ORIGIN, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use super::problem::{Code, Problem};
use crate::Cors;

/// The answers' headers, or nothing where no other origin is allowed.
pub(super) fn layer(cors: &Cors) -> Option<CorsLayer> {
    let origins = match cors {
        Cors::None => return None,
        Cors::Any => AllowOrigin::any(),
        Cors::Origins(origins) => AllowOrigin::list(origins.iter().filter_map(|origin| as_header(origin))),
    };
    let methods = [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let layer = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods(methods)
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers([CONTENT_TYPE, RETRY_AFTER]);
    Some(layer)
}

fn as_header(origin: &str) -> Option<HeaderValue> {
    let value = HeaderValue::from_str(origin).ok();
    if value.is_none() {
        tracing::warn!(origin, "not an origin; it is left out of the allowed ones");
    }
    value
}

/// Refuses changes asked for by foreign pages.
pub(super) async fn guard(State(cors): State<Cors>, request: Request, next: Next) -> Result<Response, Problem> {
    check(&cors, request.method(), request.headers())?;
    Ok(next.run(request).await)
}

fn check(cors: &Cors, method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let Some(origin) = text(ORIGIN) else {
        return Ok(());
    };
    let changes = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    if !changes || is_own(origin, text(HOST).unwrap_or_default()) || is_allowed(cors, origin) {
        return Ok(());
    }
    let detail = format!("pages of {origin:?} may not change anything here; allow that origin in the hub's settings");
    Err(Problem::new(Code::Forbidden, detail))
}

fn is_own(origin: &str, host: &str) -> bool {
    let authority = origin.split_once("://").map(|(_, authority)| authority);
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

fn is_allowed(cors: &Cors, origin: &str) -> bool {
    match cors {
        Cors::None => false,
        Cors::Any => true,
        Cors::Origins(origins) => origins.iter().any(|allowed| allowed == origin),
    }
}
