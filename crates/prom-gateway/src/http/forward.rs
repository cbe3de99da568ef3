//! Requests about a group that another hub serves: answered by that one.
//!
//! A route finds out by asking the bus, after it has looked at the caller's rights; its refusal carries
//! the address. The request is then sent there as it is, with this hub's own token; of its body, what the route has read.

use std::sync::{Arc, OnceLock};

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

/// Where a refused request would be answered.
#[derive(Clone)]
pub(super) struct ServedAt(pub String);

/// Where a route leaves the body that it has read, for the hub that may have to answer instead.
#[derive(Clone, Default)]
pub(super) struct BodyForOwner(Arc<OnceLock<Bytes>>);

impl BodyForOwner {
    pub fn set(&self, text: Bytes) {
        self.0.get_or_init(|| text);
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
    let body = BodyForOwner::default();
    request.extensions_mut().insert(body.clone());
    let response = next.run(request).await;
    let Some(ServedAt(url)) = response.extensions().get::<ServedAt>().cloned() else {
        return response;
    };
    let again = again.map(|()| Full::new(body.0.get().cloned().unwrap_or_default()));
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
