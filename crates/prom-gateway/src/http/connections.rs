//! `GET /connections`: who is connected to this hub by WebSocket.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use prom_auth::Action;
use prom_protocol::http::connections::{ConnectionList, ConnectionSpeaker, ConnectionSubscription, ConnectionView};
use prom_protocol::http::listing::PageQuery;

use super::api::Api;
use super::caller::Caller;
use super::extract::Params;
use super::limits::CONNECTION_SUBSCRIPTIONS;
use super::listing::{ListPage, Listing};
use super::problem::{Problem, Problems};
use super::whoami::reach_of;
use crate::ws::ListedConnection;

#[utoipa::path(
    get,
    path = "/connections",
    operation_id = "listConnections",
    tag = "hub",
    summary = "List the WebSocket connections of this hub",
    description = "`sort` is `connection`, `subscriptions` or `unwritten_bytes`; `q` looks in names, subjects, addresses and \
                   what is subscribed to.",
    params(PageQuery),
    responses((status = 200, description = "The connections", body = ConnectionList), Problems),
)]
pub(super) async fn list(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(query): Params<PageQuery>,
) -> Result<Json<ConnectionList>, Problem> {
    caller.may_everywhere(Action::Ops)?;
    let listing = Listing::read(&query, &["connection", "subscriptions", "unwritten_bytes"])?;
    let mut connections = api.hub.connections.list();
    connections.retain(|connection| is_asked_for(&listing, connection));
    match listing.field {
        "subscriptions" => listing.sort_by_number(&mut connections, |entry| entry.subscriptions().len() as f64),
        "unwritten_bytes" => listing.sort_by_number(&mut connections, |entry| entry.unwritten_bytes() as f64),
        _ => listing.sort_by_name(&mut connections),
    }
    let ListPage { items, total, next } = listing.page(connections);
    let connections = items.iter().map(|connection| view(connection)).collect();
    let hub = api.hub.peers.as_ref().map(|peers| peers.name.clone());
    Ok(Json(ConnectionList { connections, hub, total, next }))
}

fn is_asked_for(listing: &Listing, connection: &ListedConnection) -> bool {
    let names_it = listing.has(&connection.name) || listing.has(&connection.peer.to_string());
    names_it
        || connection.owner().subject.is_some_and(|subject| listing.has(&subject))
        || connection
            .subscriptions()
            .iter()
            .any(|name| listing.has(&name.topic) || name.group.as_deref().is_some_and(|group| listing.has(group)))
}

fn view(connection: &ListedConnection) -> ConnectionView {
    let owner = connection.owner();
    let subscriptions = connection.subscriptions();
    ConnectionView {
        connection: connection.name.clone(),
        address: connection.peer.to_string(),
        since_ts: connection.since_ms,
        speaker: match (owner.is_authenticated, owner.is_hub) {
            (false, _) => ConnectionSpeaker::Unknown,
            (true, false) => ConnectionSpeaker::Client,
            (true, true) => ConnectionSpeaker::Hub,
        },
        subject: owner.subject.as_deref().map(str::to_owned),
        rights: owner.policy.as_deref().map(reach_of),
        expires_at_ms: owner.expires_at_ms,
        subscriptions: subscriptions.len() as u64,
        subscribed: subscriptions
            .into_iter()
            .take(CONNECTION_SUBSCRIPTIONS)
            .map(|name| ConnectionSubscription { topic: name.topic, group: name.group })
            .collect(),
        unwritten_bytes: connection.unwritten_bytes() as u64,
    }
}
