//! Requests about a group that another hub serves: answered by that one.
//!
//! A route finds out by asking the bus, after it has looked at the caller's rights; its refusal carries
//! the address. The request is then sent there as it is, with this hub's own token and the
//! caller's subject; of its body, what the route has read.

use std::sync::{Arc, OnceLock};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use http_body_util::Full;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};
use prom_engine::{Bus, Error, Owner};
use prom_types::GroupName;

use super::api::Api;
use super::problem::{Code, Problem};
use crate::peers::{MASKED_HEADER, RELAY_HEADER, SUBJECT_HEADER};

/// Where a refused request would be answered.
#[derive(Clone)]
pub(super) struct ServedAt(pub String);

/// What a request left behind for the hub that may have to answer instead: the body that was read, and the caller.
#[derive(Clone, Default)]
pub(super) struct ForOwner(Arc<LeftForOwner>);

#[derive(Default)]
struct LeftForOwner {
    body: OnceLock<Bytes>,
    subject: OnceLock<String>,
    masked: OnceLock<()>,
}

impl ForOwner {
    pub fn set_body(&self, text: Bytes) {
        self.0.body.get_or_init(|| text);
    }

    /// The caller does not see whole what it asks about.
    pub fn set_masked(&self) {
        self.0.masked.get_or_init(|| ());
    }

    pub fn set_subject(&self, subject: Option<&str>) {
        if let Some(subject) = subject {
            self.0.subject.get_or_init(|| subject.to_owned());
        }
    }
}

/// Whether the caller of a request that another hub passed on lacks the right to see the events whole.
pub(super) fn is_masked(headers: &HeaderMap) -> bool {
    headers.contains_key(MASKED_HEADER)
}

/// Whose request another hub passed on.
pub(super) fn subject_of(headers: &HeaderMap) -> Result<Option<Arc<str>>, Problem> {
    let Some(header) = headers.get(SUBJECT_HEADER) else {
        return Ok(None);
    };
    match percent_decode(header.as_bytes()).decode_utf8() {
        Ok(subject) => Ok(Some(Arc::from(subject))),
        Err(error) => Err(Problem::new(Code::BadRequest, format!("{SUBJECT_HEADER}: {error}"))),
    }
}

/// Passes a request on to the hub that serves its group, if that is another one.
pub(super) async fn to_owner(State(api): State<Arc<Api>>, mut request: Request, next: Next) -> Response {
    let is_ours = request.headers().contains_key(RELAY_HEADER) || !is_about_group(request.uri().path());
    let Some(peers) = api.hub.peers.as_ref().filter(|_| !is_ours) else {
        return next.run(request).await;
    };
    let again = match head_of(&request) {
        Ok(again) => again,
        Err(problem) => return problem.into_response(),
    };
    let left = ForOwner::default();
    request.extensions_mut().insert(left.clone());
    let response = next.run(request).await;
    let Some(ServedAt(url)) = response.extensions().get::<ServedAt>().cloned() else {
        return response;
    };
    let mut again = again.map(|()| Full::new(left.0.body.get().cloned().unwrap_or_default()));
    let subject = left.0.subject.get().map(|subject| utf8_percent_encode(subject, NON_ALPHANUMERIC).to_string());
    if let Some(Ok(subject)) = subject.map(HeaderValue::try_from) {
        again.headers_mut().insert(SUBJECT_HEADER, subject);
    }
    if left.0.masked.get().is_some() {
        again.headers_mut().insert(MASKED_HEADER, HeaderValue::from_static("1"));
    }
    match peers.ask(&url, again).await {
        Ok(answer) => {
            // The other headers are about the way between the hubs.
            let mut response = (answer.status(), answer.body().clone()).into_response();
            if let Some(kind) = answer.headers().get(CONTENT_TYPE) {
                response.headers_mut().insert(CONTENT_TYPE, kind.clone());
            }
            response
        }
        Err(why) => {
            let detail = format!("the hub at {url} serves this group and does not answer: {why}; try again");
            Problem::new(Code::Overloaded, detail).into_response()
        }
    }
}

/// Refuses what only the hub that serves the group knows.
pub(super) async fn check_here(bus: &Bus, group: &GroupName) -> Result<(), Problem> {
    match bus.owner_of(group).await? {
        Owner::There { url } => Err(Error::ServedElsewhere { group: group.clone(), url }.into()),
        Owner::Here | Owner::Unowned => Ok(()),
    }
}

/// Whether the hub that serves a group is the one to ask.
pub(crate) fn is_about_group(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    matches!(first, "groups" | "cursors" | "skip" | "lag" | "why" | "partitions")
}

fn head_of(request: &Request) -> Result<http::Request<()>, Problem> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let mut again = http::Request::builder().method(request.method().clone()).uri(path);
    for name in [ACCEPT, CONTENT_TYPE] {
        if let Some(value) = request.headers().get(&name) {
            again = again.header(name, value);
        }
    }
    again.body(()).map_err(|error| Problem::new(Code::BadRequest, error.to_string()))
}
