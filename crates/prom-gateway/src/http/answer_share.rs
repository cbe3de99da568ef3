//! What answers hold until their clients have taken them: counted here where a route has not counted it.
//!
//! Promise: no number of clients that ask for large answers and read them slowly makes the hub hold more than its budget. Small
//! answers are not counted, and streams count their own pieces.

use std::sync::{Arc, OnceLock};

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::Method;

use super::api::Api;
use super::budget::{BodyShare, Holder};
use super::limits::ANSWER_UNCOUNTED_BYTES;
use super::problem::{Code, Problem};

/// Whose request it is; known once its token is.
#[derive(Clone, Default)]
pub(super) struct RequestHolder(Arc<OnceLock<Holder>>);

/// The answer is counted, or is the same text for all.
#[derive(Clone)]
pub(super) struct AnswerCounted;

impl RequestHolder {
    pub fn set(&self, holder: &Holder) {
        self.0.get_or_init(|| holder.clone());
    }

    pub fn holder(&self) -> &Holder {
        self.0.get().unwrap_or(&None)
    }
}

/// A text that holds its share.
pub(super) struct HeldText(Bytes);

impl HeldText {
    pub fn new(text: Vec<u8>, share: BodyShare) -> Self {
        Self(share.hold(text))
    }
}

impl IntoResponse for HeldText {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.0));
        response.extensions_mut().insert(AnswerCounted);
        response
    }
}

/// Only looks are refused: what was changed has to be told.
pub(super) async fn count(State(api): State<Arc<Api>>, mut request: Request, next: Next) -> Response {
    let holder = RequestHolder::default();
    request.extensions_mut().insert(holder.clone());
    let is_look = request.method() == Method::GET;
    let response = next.run(request).await;
    let bytes = response.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    let is_counted = response.extensions().get::<AnswerCounted>().is_some();
    let Some(bytes) = bytes.filter(|bytes| is_look && !is_counted && *bytes > ANSWER_UNCOUNTED_BYTES) else {
        return response;
    };
    let share = match api.budget.take(holder.holder(), bytes) {
        Ok(share) => share,
        Err(problem) => return problem.into_response(),
    };
    let (parts, body) = response.into_parts();
    // It is there already: nothing is waited for or copied.
    match to_bytes(body, bytes).await {
        Ok(text) => Response::from_parts(parts, Body::from(share.hold(text))),
        Err(error) => Problem::new(Code::Internal, error.to_string()).into_response(),
    }
}
