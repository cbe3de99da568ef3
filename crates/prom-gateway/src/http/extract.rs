//! Parameters and bodies, taken out of a request and checked. What is wrong becomes a problem that names it.
//! Unknown parameters are ignored, and an empty value counts as none.

use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use http::request::Parts;
use prom_types::{GroupName, TopicName};
use serde::de::DeserializeOwned;

use super::answer_share::RequestHolder;
use super::api::Api;
use super::body;
use super::budget::BodyShare;
use super::forward::ForOwner;
use super::limits::PARSED_TIMES;
use super::problem::{Code, Problem};

/// The query string.
pub(crate) struct Params<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<Arc<Api>> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Api>) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        let given = query.split('&').filter(|pair| pair.split_once('=').is_some_and(|(_, value)| !value.is_empty()));
        let given = given.collect::<Vec<_>>().join("&");
        let pairs = serde_urlencoded::Deserializer::new(form_urlencoded::parse(given.as_bytes()));
        let read = serde_path_to_error::deserialize(pairs);
        read.map(Self).map_err(|error| bad_field(&error.path().to_string(), &error.inner().to_string()))
    }
}

/// The topic that a path names.
pub(crate) struct TopicInPath(pub TopicName);

/// The group that a path names.
pub(crate) struct GroupInPath(pub GroupName);

/// Anything else that a path names.
pub(crate) struct InPath<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<Api>> for InPath<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Problem> {
        let Path(named) = Path::<T>::from_request_parts(parts, api).await?;
        Ok(Self(named))
    }
}

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

/// A JSON body, whatever content type it claims. The route reads it, after it has looked at the caller's rights.
pub(crate) struct JsonBody<T> {
    body: Body,
    keep: Option<ForOwner>,
    holder: RequestHolder,
    shape: PhantomData<fn() -> T>,
}

impl<T> FromRequest<Arc<Api>> for JsonBody<T> {
    type Rejection = Infallible;

    async fn from_request(mut request: Request<Body>, _: &Arc<Api>) -> Result<Self, Infallible> {
        let keep = request.extensions_mut().remove::<ForOwner>();
        let holder = request.extensions_mut().remove::<RequestHolder>().unwrap_or_default();
        Ok(Self { body: request.into_body(), keep, holder, shape: PhantomData })
    }
}

impl<T: DeserializeOwned> JsonBody<T> {
    pub async fn read(self, api: &Api) -> Result<T, Problem> {
        Ok(self.read_whole(api).await?.0)
    }

    /// As [`JsonBody::read`], for a body that is worked on for long. What it takes when it is parsed counts to the budget until
    /// the share is dropped, so that few of those who wait for the work fill the memory.
    pub async fn read_held(self, api: &Api) -> Result<(T, BodyShare), Problem> {
        let (body, bytes, mut share) = self.read_whole(api).await?;
        share.grow_to(bytes.saturating_mul(PARSED_TIMES))?;
        Ok((body, share))
    }

    async fn read_whole(self, api: &Api) -> Result<(T, usize, BodyShare), Problem> {
        let limit = api.hub.options.frame_bytes;
        let body::WholeBody { text, share } =
            body::whole(self.body, &api.budget, self.holder.holder(), limit, |_| limit).await?;
        if let Some(keep) = self.keep {
            keep.set_body(text.clone());
        }
        body::check_object(&text)?;
        let mut json = serde_json::Deserializer::from_slice(&text);
        let read = serde_path_to_error::deserialize(&mut json);
        let body = read.map_err(|error| {
            if error.inner().is_data() {
                bad_field(&error.path().to_string(), &error.inner().to_string())
            } else {
                Problem::new(Code::BadJson, error.inner().to_string())
            }
        })?;
        json.end().map_err(|error| Problem::new(Code::BadJson, error.to_string()))?;
        Ok((body, text.len(), share))
    }
}

/// What a shape did not take, by the field that is at fault.
fn bad_field(path: &str, reason: &str) -> Problem {
    let missing = reason.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    if let Some(name) = missing {
        return Problem::field(name, "is missing");
    }
    match path {
        "." => Problem::new(Code::BadRequest, reason),
        path => Problem::field(path, reason.strip_prefix(&format!("{path}: ")).unwrap_or(reason)),
    }
}

/// A name that is too long is a bad name, not a body that is too large.
pub(crate) fn topic_name(name: &str) -> Result<TopicName, Problem> {
    TopicName::parse(name).map_err(|invalid| Problem::new(Code::BadRequest, invalid.to_string()).with_field("topic"))
}

pub(crate) fn group_name(name: &str) -> Result<GroupName, Problem> {
    GroupName::parse(name).map_err(|invalid| Problem::new(Code::BadRequest, invalid.to_string()).with_field("group"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_at_fault_is_named_once() {
        for (path, reason, told) in [
            (".", "missing field `topic`", "topic: is missing"),
            ("retention", "missing field `age_ms` at line 1", "age_ms: is missing"),
            ("limit", "invalid digit found in string", "limit: invalid digit found in string"),
            ("offset", "offset: invalid digit", "offset: invalid digit"),
            (".", "unknown field `a`", "unknown field `a`"),
        ] {
            assert_eq!(bad_field(path, reason).document().detail, told);
        }
    }
}
