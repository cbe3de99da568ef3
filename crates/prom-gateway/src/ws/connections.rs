//! The WebSocket connections of this hub, for people who ask who is there, and who end one.
//!
//! Promises: what is listed is there now; an entry goes with its connection, a subscription with its task; an idle connection
//! costs a few hundred bytes here, and a message costs nothing.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use prom_auth::{Identity, Policy};
use prom_protocol::frame::SubscriptionName;
use tokio::sync::Notify;

use super::connection::Speaker;
use super::outbox::Outbox;
use crate::Hub;

/// By the number in their names.
#[derive(Default)]
pub struct Connections(Mutex<BTreeMap<u64, Arc<ListedConnection>>>);

/// What is known of one.
pub struct ListedConnection {
    pub name: String,
    pub peer: SocketAddr,
    pub since_ms: i64,
    outbox: Arc<Outbox>,
    who: Mutex<ConnectionOwner>,
    subscriptions: Mutex<Vec<SubscriptionName>>,
    cut: Notify,
}

/// Whom a connection speaks for; nothing before AUTH.
#[derive(Clone, Default)]
pub struct ConnectionOwner {
    pub subject: Option<Arc<str>>,
    pub expires_at_ms: Option<i64>,
    pub policy: Option<Arc<Policy>>,
    pub is_authenticated: bool,
    pub is_hub: bool,
}

/// Lists a connection until it is dropped.
pub struct ConnectionListing {
    hub: Arc<Hub>,
    number: u64,
    pub entry: Arc<ListedConnection>,
}

/// Lists a subscription until it is dropped.
pub struct SubscriptionListing {
    entry: Arc<ListedConnection>,
    name: SubscriptionName,
}

impl Connections {
    pub fn list(&self) -> Vec<Arc<ListedConnection>> {
        self.0.lock().values().cloned().collect()
    }

    pub fn find(&self, name: &str) -> Option<Arc<ListedConnection>> {
        self.0.lock().values().find(|entry| entry.name == name).cloned()
    }
}

impl ConnectionListing {
    pub fn new(hub: &Arc<Hub>, peer: SocketAddr, outbox: &Arc<Outbox>) -> Self {
        let number = hub.next_connection();
        let entry = Arc::new(ListedConnection {
            name: format!("connection-{number}"),
            peer,
            since_ms: hub.clock.now_ms(),
            outbox: outbox.clone(),
            who: Mutex::default(),
            subscriptions: Mutex::default(),
            cut: Notify::new(),
        });
        hub.connections.0.lock().insert(number, entry.clone());
        Self { hub: hub.clone(), number, entry }
    }
}

impl Drop for ConnectionListing {
    fn drop(&mut self) {
        self.hub.connections.0.lock().remove(&self.number);
    }
}

impl ListedConnection {
    pub fn authenticated(&self, identity: &Identity, speaker: Speaker) {
        *self.who.lock() = ConnectionOwner {
            subject: identity.subject.clone(),
            expires_at_ms: identity.expires_at_ms,
            policy: Some(identity.policy.clone()),
            is_authenticated: true,
            is_hub: speaker == Speaker::Hub,
        };
    }

    pub fn owner(&self) -> ConnectionOwner {
        self.who.lock().clone()
    }

    pub fn subscriptions(&self) -> Vec<SubscriptionName> {
        self.subscriptions.lock().clone()
    }

    /// Bytes that its client has not taken.
    pub fn unwritten_bytes(&self) -> usize {
        self.outbox.unwritten_bytes()
    }

    pub fn subscribed(self: &Arc<Self>, name: SubscriptionName) -> SubscriptionListing {
        self.subscriptions.lock().push(name.clone());
        SubscriptionListing { entry: self.clone(), name }
    }

    /// Ends it, as soon as its task looks.
    pub fn cut(&self) {
        self.cut.notify_one();
    }

    /// Ready when it has to end.
    pub async fn is_cut(&self) {
        self.cut.notified().await;
    }
}

impl Drop for SubscriptionListing {
    fn drop(&mut self) {
        let mut subscriptions = self.entry.subscriptions.lock();
        if let Some(at) = subscriptions.iter().position(|name| *name == self.name) {
            subscriptions.swap_remove(at);
        }
    }
}
