//! Requests about a group that another hub serves: answered by that one.
//!
//! A route finds out by asking the bus, after it has looked at the caller's rights; its refusal carries
//! the address. The request is then sent there as it is, with this hub's own token.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http_body_util::Full;
use prom_engine::{Bus, Error, Owner};
use prom_types::GroupName;

use super::api::Api;
use super::problem::{Code, Problem};
use crate::peers::RELAY_HEADER;

/// Requests about groups are small.
const BODY_BYTES: usize = 256 * 1024;

/// Where a refused request would be answered.
#[derive(Clone)]
pub(super) struct ServedAt(pub String);

/// Passes a request on to the hub that serves its group, if that is another one.
pub(super) async fn to_owner(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let is_ours = request.headers().contains_key(RELAY_HEADER) || !is_about_group(request.uri().path());
    let Some(peers) = api.hub.peers.as_ref().filter(|_| !is_ours) else {
        return next.run(request).await;
    };
    let (head, body) = request.into_parts();
    let Ok(body) = to_bytes(body, BODY_BYTES).await else {
        let detail = format!("the body is above {BODY_BYTES} bytes, or broke off");
        return Problem::new(Code::TooLarge, detail).into_response();
    };
    let again = match copy(&head, body.clone()) {
        Ok(again) => again,
        Err(problem) => return problem.into_response(),
    };
    let response = next.run(Request::from_parts(head, Body::from(body))).await;
    let Some(ServedAt(url)) = response.extensions().get::<ServedAt>().cloned() else {
        return response;
    };
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
            let detail = format!("the hub at {url} serves this group and cannot be asked: {why}; try again");
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
    matches!(first, "groups" | "cursors" | "lag" | "why" | "partitions")
}

fn copy(head: &http::request::Parts, body: Bytes) -> Result<http::Request<Full<Bytes>>, Problem> {
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = http::Request::builder().method(head.method.clone()).uri(path);
    for name in [ACCEPT, CONTENT_TYPE] {
        if let Some(value) = head.headers.get(&name) {
            request = request.header(name, value);
        }
    }
    request.body(Full::new(body)).map_err(|error| Problem::new(Code::BadRequest, error.to_string()))
}
