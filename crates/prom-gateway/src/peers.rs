//! The other hubs on the same store: how they know each other, and how one reaches another.
//!
//! They share a secret in the store, made by the first of them. Reading it takes the same access as reading
//! every event there. With it a hub signs short-lived tokens of its own. Such a token is good for one thing:
//! to speak to another hub for a client whose rights were checked already.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use hashbrown::HashMap;
use http::Request;
use http_body_util::Full;
use parking_lot::Mutex;
use prom_auth::{AuthError, AuthOptions, Authenticator, Identity, Policy, TokenRequest, fresh_secret, mint};
use prom_client::wire::{Dialer, Wire};
use prom_engine::Bus;
use prom_protocol::frame::auth::{Auth, BATCH, RELAY};
use prom_store::Clock;

const COLLECTION: &str = "hubs";
const SECRET: &str = "secret";
const AUDIENCE: &str = "prom.hub";
const SUBJECT: &str = "prom.hub";
/// Renewed at half of it on connections that stay.
pub(crate) const TOKEN_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// How long a failed attempt counts for all callers.
const UNREACHABLE_FOR: Duration = Duration::from_millis(100);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// What a hub needs to speak to others.
pub struct Peers {
    secret: String,
    clock: Arc<dyn Clock>,
    judge: Authenticator,
    dialer: Dialer,
    /// As people see this hub.
    pub(crate) name: String,
    /// Hubs that did not answer, and when.
    unreachable: Mutex<HashMap<String, Duration>>,
}

/// Why a hub cannot join the others.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    #[error("the secret that hubs share cannot be read: {0}")]
    Store(#[from] prom_engine::Error),
    /// Stop all hubs and delete it: the next one makes another.
    #[error("the secret that hubs share is not one ({0}); stop all hubs and delete `secret` in the collection `hubs`")]
    Unreadable(String),
    #[error("the secret that hubs share cannot be used: {0}")]
    Secret(#[from] AuthError),
    /// Look at the address and the certificates.
    #[error(transparent)]
    Reach(#[from] prom_client::Error),
}

impl Peers {
    /// Joins the hubs on the store of this bus. `url` is where the others reach this one; `dialer` is how it reaches them.
    pub async fn join(bus: &Bus, clock: Arc<dyn Clock>, url: &str, dialer: Dialer) -> Result<Self, JoinError> {
        prom_client::wire::check_url(url)?;
        let secret = shared_secret(bus).await?;
        let options = AuthOptions {
            jwt_secret: Some(secret.clone()),
            audience: Some(AUDIENCE.to_owned()),
            ..AuthOptions::default()
        };
        let name = host_of(url).to_owned();
        Ok(Self {
            judge: Authenticator::with_clock(options, clock.clone())?,
            clock,
            dialer,
            secret,
            name,
            unreachable: Mutex::default(),
        })
    }

    /// Whether this is the address of this hub itself.
    pub(crate) fn is_this_hub(&self, url: &str) -> bool {
        host_of(url) == self.name
    }

    /// Whether a token is a hub's. Rights are checked where the client is.
    pub(crate) async fn authenticate(&self, token: Option<&str>) -> Result<Identity, AuthError> {
        let identity = self.judge.authenticate(token).await?;
        Ok(Identity { policy: Arc::new(Policy::open()), ..identity })
    }

    fn token(&self) -> Result<String, AuthError> {
        let request = TokenRequest {
            subject: SUBJECT.to_owned(),
            scopes: Vec::new(),
            audience: Some(AUDIENCE.to_owned()),
            lifetime: TOKEN_LIFETIME,
            now: UNIX_EPOCH + Duration::from_millis(u64::try_from(self.clock.now_ms()).unwrap_or(0)),
            ..TokenRequest::default()
        };
        mint(&request, &self.secret)
    }

    /// The frame with which this hub speaks to another, with a fresh token.
    pub(crate) fn auth_frame(&self, batches: Batches) -> Result<Vec<u8>, AuthError> {
        let mut features = vec![RELAY.to_owned()];
        if batches == Batches::Yes {
            features.push(BATCH.to_owned());
        }
        let mut text = Vec::new();
        Auth { token: Some(self.token()?.into()), features }.write(&mut text, None);
        Ok(text)
    }

    /// `frame_bytes` is the largest frame that a client of this hub may send or publish.
    pub(crate) async fn dial(&self, url: &str, frame_bytes: usize) -> Result<Wire, prom_client::Error> {
        self.dialer.dial(url, frame_bytes.saturating_mul(2)).await
    }

    /// When a hub dies, thousands look for it at once: one failed attempt counts for all of them for a moment.
    pub(crate) fn check_reachable(&self, url: &str) -> Result<(), String> {
        let now = self.clock.monotonic();
        let mut unreachable = self.unreachable.lock();
        unreachable.retain(|_, since| now.saturating_sub(*since) < UNREACHABLE_FOR);
        if unreachable.contains_key(url) {
            return Err("it did not answer a moment ago".to_owned());
        }
        Ok(())
    }

    pub(crate) fn note_unreachable(&self, url: &str) {
        self.unreachable.lock().insert(url.to_owned(), self.clock.monotonic());
    }

    /// Asks another hub what a client asked this one.
    pub(crate) async fn ask(
        &self,
        url: &str,
        mut request: Request<Full<Bytes>>,
    ) -> Result<http::Response<Bytes>, String> {
        let token = self.token().map_err(|error| error.to_string())?;
        let token = format!("Bearer {token}").parse().map_err(|_| "the token is no header".to_owned())?;
        request.headers_mut().insert(http::header::AUTHORIZATION, token);
        request.headers_mut().insert(RELAY_HEADER, http::HeaderValue::from_static("1"));
        let asked = tokio::time::timeout(REQUEST_TIMEOUT, self.dialer.request(url, request)).await;
        asked.map_err(|_| format!("{url} did not answer"))?.map_err(|error| error.to_string())
    }
}

fn host_of(url: &str) -> &str {
    url.split("://").nth(1).unwrap_or(url).trim_end_matches('/')
}

/// Marks a request whose token is a hub's.
pub(crate) const RELAY_HEADER: &str = "x-prom-relay";

/// Whose request it is, percent-encoded; believed of hubs only.
pub(crate) const SUBJECT_HEADER: &str = "x-prom-subject";

/// Present where the caller does not see whole what it asks about; believed of hubs only.
pub(crate) const MASKED_HEADER: &str = "x-prom-masked";

/// Whether a client reads batched frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Batches {
    Yes,
    No,
}

/// The stored secret, or a fresh one that is stored first. A JSON text, as all documents are.
async fn shared_secret(bus: &Bus) -> Result<String, JoinError> {
    let fresh = || format!("\"{}\"", fresh_secret()).into_bytes();
    let secret = bus.document_or_insert(COLLECTION, SECRET, fresh).await?;
    serde_json::from_slice(&secret).map_err(|error| JoinError::Unreadable(error.to_string()))
}
