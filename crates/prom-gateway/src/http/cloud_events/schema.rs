//! A CloudEvent as the OpenAPI document describes it. Extensions are members of any name, so no type reads it whole.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A CloudEvent 1.0 in structured mode. Extensions are members of their own.
#[derive(Serialize, ToSchema)]
pub(crate) struct CloudEvent {
    #[schema(example = "1.0")]
    specversion: String,
    id: String,
    source: String,
    /// The topic, unless the request names one.
    #[serde(rename = "type")]
    kind: String,
    /// The key.
    #[schema(nullable = false)]
    subject: Option<String>,
    #[schema(nullable = false, format = "date-time")]
    time: Option<String>,
    #[schema(nullable = false)]
    datacontenttype: Option<String>,
    #[schema(nullable = false)]
    dataschema: Option<String>,
    data: Option<Value>,
    #[schema(nullable = false)]
    data_base64: Option<String>,
}
