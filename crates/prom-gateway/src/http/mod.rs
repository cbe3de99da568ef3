//! The HTTP API: publishing, reading and administration, one file per route.
//!
//! ```text
//!   request ─▶ caller (who, what rights) ─▶ route ─▶ bus ─▶ answer or problem document
//! ```
//!
//! Promises: every refusal is a problem document; bodies are bounded or streamed; what an answer
//! costs in memory does not follow the size of a topic. The OpenAPI document is made from the routes.

mod answer_share;
mod api;
mod caller;
mod cors;
mod limits;
mod problem;

mod body;
mod budget;
mod cloud_events;
mod extract;
mod forward;
mod gather;
mod job;
mod listing;

mod at;
mod diff;
mod export;
mod import;
mod latest_by_key;
mod publish;
mod replay;
mod replay_into;
mod replay_live;
mod search;
mod searches;
mod trace;
mod traced;

mod delete_topic;
mod put_topic;
mod snapshot;
mod topics;

mod asyncapi;
mod confluent;
mod cutover;
mod dlq;
mod flows;
mod schema;

mod change_group;
mod cursors;
mod groups;
mod kick;
mod lag;
mod parked;
mod partitions;
mod release;
mod set_cursor;
mod skip;
mod why;

mod state;

mod connections;
mod cut_connection;
mod dashboard;
mod health;
mod metrics;
mod openapi;
mod stats;
mod whoami;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use http::{Method, Uri};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::api::Api;
pub(crate) use self::asyncapi::CameOver;
pub use self::caller::ConnectionRate;
pub(crate) use self::forward::is_about_group;
pub(crate) use self::limits::{RATE_INTEREST, RATE_WINDOW};
pub(crate) use self::problem::Problem;
pub use self::schema::violation_view;
pub(crate) use self::stats::hub_stats;
use crate::Hub;

/// Every route of the HTTP API. The upgrade to WebSocket on `/` is the server's.
pub fn router(hub: Arc<Hub>) -> Router {
    let cors = cors::layer(&hub.options.cors);
    let (router, _) = routes().split_for_parts();
    let api = Api::new(hub);
    let router = router
        .merge(confluent::router())
        .layer(axum::middleware::from_fn_with_state(api.clone(), answer_share::count))
        // The same texts for all: sending them holds nothing.
        .route("/", get(dashboard::page))
        .route("/dashboard/{name}", get(dashboard::file))
        .fallback(|uri: Uri| async move { Problem::no_such_path(uri.path()) })
        .method_not_allowed_fallback(|method: Method| async move { Problem::wrong_method(&method) })
        .layer(axum::middleware::from_fn_with_state(api.clone(), forward::to_owner))
        .layer(axum::middleware::from_fn(traced::name_trace))
        .with_state(api);
    match cors {
        Some(layer) => router.layer(layer),
        None => router,
    }
}

/// The OpenAPI 3.1 document of [`router`].
pub fn openapi() -> utoipa::openapi::OpenApi {
    routes().into_openapi()
}

fn routes() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::with_openapi(openapi::OpenApiDocument::openapi())
        .routes(routes!(publish::publish))
        .routes(routes!(latest_by_key::get))
        .routes(routes!(at::get))
        .routes(routes!(diff::get))
        .routes(routes!(replay::replay, replay_into::post))
        .routes(routes!(search::get))
        .routes(routes!(searches::list))
        .routes(routes!(trace::get))
        .routes(routes!(export::export))
        .routes(routes!(state::snap::get))
        .routes(routes!(state::list::get))
        .routes(routes!(import::import))
        .routes(routes!(topics::list))
        .routes(routes!(topics::get))
        .routes(routes!(put_topic::put))
        .routes(routes!(delete_topic::delete))
        .routes(routes!(snapshot::list))
        .routes(routes!(snapshot::post))
        .routes(routes!(schema::list::get))
        .routes(routes!(schema::settings::put_for_all))
        .routes(routes!(schema::show::get, schema::register::post, schema::delete::all))
        .routes(routes!(schema::check::post))
        .routes(routes!(schema::prove::post))
        .routes(routes!(schema::diff::get))
        .routes(routes!(schema::settings::put, schema::settings::clear))
        .routes(routes!(schema::upcasters::put, schema::upcasters::delete))
        .routes(routes!(schema::version::get, schema::delete::one))
        .routes(routes!(cutover::post))
        .routes(routes!(dlq::list::get))
        .routes(routes!(dlq::groups::get))
        .routes(routes!(dlq::replay::post))
        .routes(routes!(dlq::purge::post))
        .routes(routes!(dlq::jobs::list))
        .routes(routes!(dlq::jobs::get))
        .routes(routes!(dlq::jobs::pause))
        .routes(routes!(dlq::jobs::resume))
        .routes(routes!(dlq::jobs::cancel))
        .routes(routes!(flows::list::get))
        .routes(routes!(flows::show::get))
        .routes(routes!(flows::rows::get))
        .routes(routes!(flows::requeue::post))
        .routes(routes!(flows::drop::post))
        .routes(routes!(flows::seek::post))
        .routes(routes!(flows::restart::post))
        .routes(routes!(flows::rebuild::post))
        .routes(routes!(asyncapi::get))
        .routes(routes!(groups::list))
        .routes(routes!(groups::get))
        .routes(routes!(change_group::patch))
        .routes(routes!(change_group::delete))
        .routes(routes!(release::post))
        .routes(routes!(kick::post))
        .routes(routes!(parked::get))
        .routes(routes!(cursors::list))
        .routes(routes!(set_cursor::post))
        .routes(routes!(skip::post))
        .routes(routes!(lag::get))
        .routes(routes!(why::get))
        .routes(routes!(partitions::list))
        .routes(routes!(connections::list))
        .routes(routes!(cut_connection::delete))
        .routes(routes!(stats::get))
        .routes(routes!(whoami::get))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(metrics::get))
        .routes(routes!(openapi::get))
}
