//! `GET /` and `/dashboard/…`: the page for people, embedded in the binary.
//!
//! ```text
//!   dashboard/src ── npm run build ──▶ dashboard/dist ── include_bytes! ──▶ here
//! ```
//!
//! Promises: the page needs nothing from elsewhere, and its policy lets it load nothing from elsewhere. No part of it is
//! secret: what it shows, it asks for with the user's token. Files are compressed once, when they are built, and are asked
//! for again only by their tag.

use std::sync::OnceLock;

use axum::Extension;
use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HOST, IF_NONE_MATCH,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use sha1::{Digest, Sha1};

use super::asyncapi::CameOver;
use super::problem::Problem;

/// A file of the build.
struct DashboardFile {
    name: &'static str,
    content_type: &'static str,
    plain: &'static [u8],
    gzip: &'static [u8],
    tag: OnceLock<HeaderValue>,
}

macro_rules! file {
    ($name:literal, $content_type:literal) => {
        DashboardFile {
            name: $name,
            content_type: $content_type,
            plain: include_bytes!(concat!("../../../../dashboard/dist/", $name)),
            gzip: include_bytes!(concat!("../../../../dashboard/dist/", $name, ".gz")),
            tag: OnceLock::new(),
        }
    };
}

static PAGE: DashboardFile = file!("index.html", "text/html; charset=utf-8");
static FILES: [DashboardFile; 3] = [
    file!("app.js", "text/javascript; charset=utf-8"),
    file!("app.css", "text/css; charset=utf-8"),
    file!("icon.svg", "image/svg+xml"),
];

/// What the page may do: load from this hub, talk to this hub, and be framed by no one.
const POLICY: &str =
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'";

pub(super) async fn page(came_over: Option<Extension<CameOver>>, headers: HeaderMap) -> Response {
    let came_over = came_over.map(|Extension(came_over)| came_over).unwrap_or_default();
    let mut response = PAGE.answer(&headers);
    let out = response.headers_mut();
    out.insert(CONTENT_SECURITY_POLICY, policy(&headers, came_over));
    out.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    response
}

pub(super) async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match FILES.iter().find(|file| file.name == name) {
        Some(file) => file.answer(&headers),
        None => Problem::no_such_path(&format!("/dashboard/{name}")).into_response(),
    }
}

impl DashboardFile {
    fn answer(&self, asked: &HeaderMap) -> Response {
        let tag = self.tag();
        let mut response = if names(asked, &IF_NONE_MATCH, |known| known == tag || known == "*") {
            StatusCode::NOT_MODIFIED.into_response()
        } else if takes_gzip(asked) {
            let mut response = Response::new(Body::from(self.gzip));
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response
        } else {
            Response::new(Body::from(self.plain))
        };
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(ETAG, tag.clone());
        // Asked for each time: after an update of the hub, page and script fit each other.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        response
    }

    /// Weak: the compressed form has the same.
    fn tag(&self) -> &HeaderValue {
        self.tag.get_or_init(|| {
            let digest: String = Sha1::digest(self.plain).iter().take(10).map(|byte| format!("{byte:02x}")).collect();
            HeaderValue::try_from(format!("W/\"{digest}\"")).unwrap_or(HeaderValue::from_static("W/\"dashboard\""))
        })
    }
}

/// Whether one of a list's values is the one.
fn names(headers: &HeaderMap, name: &HeaderName, is_it: impl Fn(&str) -> bool) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|value| is_it(value.trim()))
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    names(headers, &ACCEPT_ENCODING, |coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let is_refused = weight.trim().trim_start_matches("q=").parse() == Ok(0.0_f32);
        name.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
}

/// Where WebSockets have a port of their own, the page may connect there too.
fn policy(headers: &HeaderMap, came_over: CameOver) -> HeaderValue {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()?.parse::<Authority>().ok());
    let elsewhere = came_over.websocket_port.zip(host).and_then(|(port, host)| {
        let scheme = if came_over.tls { "wss" } else { "ws" };
        let sources = format!("{POLICY}; connect-src 'self' {scheme}://{}:{port}", host.host());
        HeaderValue::try_from(sources).ok()
    });
    elsewhere.unwrap_or(HeaderValue::from_static(POLICY))
}
