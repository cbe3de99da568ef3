//! An answer with Confluent's content type.

use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use prom_protocol::http::confluent;
use serde::Serialize;

pub struct ConfluentAnswer<T>(pub T);

impl<T: Serialize> IntoResponse for ConfluentAnswer<T> {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        ([(CONTENT_TYPE, confluent::CONTENT_TYPE)], body).into_response()
    }
}
