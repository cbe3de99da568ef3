//! `GET /asyncapi.json`: the topics that the caller may see and their latest schemas, as an AsyncAPI 3 document.
//!
//! Made anew for each request, because topics, schemas and rights change. Seen from the hub: it receives what the caller
//! may publish, and sends what the caller may subscribe to.

mod document;
mod payload;

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use http::header::{CONTENT_TYPE, HOST};
use prom_auth::Action;
use prom_protocol::http::asyncapi::AsyncApiQuery;
use prom_schema::TopicSchemas;
use prom_types::TopicName;

use self::document::{Channel, Servers};
use super::answer_share::HeldText;
use super::api::Api;
use super::caller::Caller;
use super::extract::Params;
use super::limits::ASYNCAPI_BYTES;
use super::problem::{Code, Problem, Problems};
use super::schema::{may_read, may_read_some};

/// How a request came, as far as its answer tells others to come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CameOver {
    pub tls: bool,
    /// WebSockets are served on another port.
    pub http_only: bool,
    /// That port.
    pub websocket_port: Option<u16>,
}

#[utoipa::path(
    get,
    path = "/asyncapi.json",
    operation_id = "asyncapi",
    tag = "schemas",
    summary = "Get the topics and their schemas as an AsyncAPI 3 document",
    params(AsyncApiQuery),
    responses((status = 200, description = "The document", body = serde_json::Value), Problems),
)]
pub(super) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    came_over: Option<Extension<CameOver>>,
    headers: HeaderMap,
    Params(query): Params<AsyncApiQuery>,
) -> Result<Response, Problem> {
    may_read_some(&caller)?;
    let came_over = came_over.map(|Extension(came_over)| came_over).unwrap_or_default();
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    let mut names = known_topics(&api, &caller).await?;
    names.retain(|topic| {
        // The hub's own topics are described where they are asked for.
        let is_asked = query.topic.as_ref().map_or(!topic.is_reserved(), |pattern| pattern.matches(topic));
        is_asked && may_read(&caller, topic).is_ok()
    });
    let mut channels = Vec::new();
    let mut bytes = 0;
    let mut share = api.budget.take(caller.holder(), 0)?;
    for topic in names {
        let message = payload::latest(&api.hub.bus, &caller, &topic).await?;
        bytes += message.as_ref().map_or(0, |message| message.bytes);
        if bytes > ASYNCAPI_BYTES {
            let detail =
                format!("the schemas have more than {ASYNCAPI_BYTES} bytes; ask for some of the topics with ?topic=");
            return Err(Problem::new(Code::TooLarge, detail));
        }
        share.grow_to(bytes)?;
        channels.push(Channel {
            may_publish: caller.may(Action::Publish, &topic).is_ok(),
            may_subscribe: caller.may(Action::Subscribe, &topic).is_ok(),
            topic,
            message,
        });
    }
    let text = document::write(&Servers { host, came_over }, channels).to_string();
    Ok(([(CONTENT_TYPE, "application/json")], HeldText::new(text.into_bytes(), share)).into_response())
}

/// Those that exist, and those that have a schema and are not published to yet.
async fn known_topics(api: &Api, caller: &Caller) -> Result<BTreeSet<TopicName>, Problem> {
    let topics = api.hub.bus.topics().await?.into_iter().map(|topic| topic.settings.name);
    let is_seen = |entry: &TopicSchemas| entry.latest().is_some() && may_read(caller, &entry.topic).is_ok();
    let schemas = api.hub.bus.schemas_where(is_seen).await?;
    Ok(topics.chain(schemas.into_iter().map(|entry| entry.topic)).collect())
}
