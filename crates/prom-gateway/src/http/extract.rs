//! Parameters and bodies, taken out of a request and checked. What is wrong becomes a problem that
//! names it; parameters that nobody knows are ignored; an empty value is as good as none.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use http::Uri;
use http::request::Parts;
use prom_types::{GroupName, TopicName};
use serde::de::DeserializeOwned;

use super::api::Api;
use super::body;
use super::problem::{Code, Problem};

/// The query string.
pub(crate) struct Params<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Arc<Api>> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Api>) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        let given = query.split('&').filter(|pair| pair.split_once('=').is_some_and(|(_, value)| !value.is_empty()));
        let given = given.collect::<Vec<_>>().join("&");
        let uri: Uri = format!("/?{given}")
            .parse()
            .map_err(|error| Problem::new(Code::BadRequest, format!("the query string is not valid: {error}")))?;
        Ok(Self(Query::try_from_uri(&uri)?.0))
    }
}

/// The topic that a path names.
pub(crate) struct TopicInPath(pub TopicName);

/// The group that a path names.
pub(crate) struct GroupInPath(pub GroupName);

impl FromRequestParts<Arc<Api>> for TopicInPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Problem> {
        let Path(name) = Path::<String>::from_request_parts(parts, api).await?;
        Ok(Self(topic_name(&name)?))
    }
}

impl FromRequestParts<Arc<Api>> for GroupInPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Problem> {
        let Path(name) = Path::<String>::from_request_parts(parts, api).await?;
        Ok(Self(group_name(&name)?))
    }
}

/// A JSON body of a type of ours, whatever content type it claims.
pub(crate) struct JsonBody<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Arc<Api>> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request<Body>, api: &Arc<Api>) -> Result<Self, Problem> {
        let text = body::whole(request.into_body(), api.hub.options.frame_bytes).await?;
        body::check_object(&text)?;
        Ok(Self(axum::Json::from_bytes(&text)?.0))
    }
}

/// A name that is too long is a bad name, not a body that is too large.
pub(crate) fn topic_name(name: &str) -> Result<TopicName, Problem> {
    TopicName::parse(name).map_err(|invalid| Problem::new(Code::BadRequest, invalid.to_string()).with_field("topic"))
}

pub(crate) fn group_name(name: &str) -> Result<GroupName, Problem> {
    GroupName::parse(name).map_err(|invalid| Problem::new(Code::BadRequest, invalid.to_string()).with_field("group"))
}

/// A parameter that a route cannot do without.
pub(crate) fn required<T>(name: &'static str, value: Option<T>) -> Result<T, Problem> {
    value.ok_or_else(|| Problem::field(name, format_args!("is missing; give ?{name}=…")))
}
