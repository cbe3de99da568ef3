//! CORS: which web pages of other origins may read answers. That a hub without auth takes nothing from
//! foreign pages at all is the server's business.

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

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
