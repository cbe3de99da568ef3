//! A hub for a test: its router, called without a socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use bytes::Bytes;
use http_body_util::BodyExt;
use prom_auth::{AuthOptions, Authenticator, TokenRequest, mint};
use prom_engine::{Bus, BusOptions, HubOptions};
use prom_gateway::{Collaborators, Dialer, GatewayOptions, Hub, Peers};
use prom_store::{Clock, MemoryStore, Store, SystemClock};
use serde_json::Value;
use tower::ServiceExt;

const SECRET: &str = "a secret that only tests know and that is long enough";

#[derive(Clone)]
pub struct Home {
    pub bus: Bus,
    pub keeper: prom_jobs::Keeper,
    pub flows: prom_jobs::FlowBoard,
    router: Router,
}

/// An answer, read whole.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Home {
    /// Nothing configured: everybody may do everything.
    pub async fn open() -> Self {
        Self::with(GatewayOptions::default(), AuthOptions::default()).await
    }

    /// Tokens are needed.
    pub async fn protected() -> Self {
        Self::with(GatewayOptions::default(), auth()).await
    }

    pub async fn with(options: GatewayOptions, auth: AuthOptions) -> Self {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
        Self::over(store, options, auth).await
    }

    /// Every look at the clock is so much later than the last: no two events are of the same time.
    pub async fn ticking_by(step_ms: i64) -> Self {
        let clock = Ticking { now_ms: AtomicI64::new(1_000_000), step_ms };
        let store = Arc::new(MemoryStore::new(Arc::new(clock)));
        Self::over(store, GatewayOptions::default(), AuthOptions::default()).await
    }

    /// Tokens are needed, and the hub goes by this clock.
    pub async fn protected_by(clock: Arc<Movable>) -> Self {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
        Self::assemble(store, clock, GatewayOptions::default(), auth()).await
    }

    pub async fn over(store: Arc<dyn Store>, options: GatewayOptions, auth: AuthOptions) -> Self {
        Self::assemble(store, Arc::new(SystemClock::new()), options, auth).await
    }

    async fn assemble(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        options: GatewayOptions,
        auth: AuthOptions,
    ) -> Self {
        let bus = Bus::start(store, BusOptions::default()).await.unwrap();
        let auth = Authenticator::new(auth).unwrap();
        let hub = Hub::new(bus.clone(), auth, clock, options);
        Self { bus, keeper: hub.keeper.clone(), flows: hub.flows.clone(), router: prom_gateway::http::router(hub) }
    }

    /// Tokens are needed, and other hubs may serve the groups.
    pub async fn protected_among_others() -> Self {
        let url = "http://127.0.0.1:1".to_owned();
        let hub = Some(HubOptions { url: url.clone(), ttl: Duration::from_secs(60) });
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
        let bus = Bus::start(store, BusOptions { hub, ..BusOptions::default() }).await.unwrap();
        let clock = Arc::new(SystemClock::new());
        let peers = Peers::join(&bus, clock.clone(), &url, Dialer::new(None).unwrap()).await.unwrap();
        let collaborators = Collaborators { peers: Some(peers), ..Collaborators::default() };
        let auth = Authenticator::new(auth()).unwrap();
        let hub = Hub::with(bus.clone(), auth, clock, GatewayOptions::default(), collaborators);
        Self { bus, keeper: hub.keeper.clone(), flows: hub.flows.clone(), router: prom_gateway::http::router(hub) }
    }

    pub fn router(&self) -> Router {
        self.router.clone()
    }

    pub async fn get(&self, path: &str) -> Answer {
        Ask::new(Method::GET, path).send(self).await
    }

    pub async fn post(&self, path: &str, body: impl Into<Body>) -> Answer {
        Ask::new(Method::POST, path).body(body).send(self).await
    }

    pub async fn post_lines(&self, path: &str, body: impl Into<Body>) -> Answer {
        Ask::new(Method::POST, path).header("content-type", "application/x-ndjson").body(body).send(self).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        Ask::new(Method::PUT, path).body(body.to_string()).send(self).await
    }

    /// Publishes `0, 1, 2…` with the key `k<n>`.
    pub async fn publish_numbers(&self, topic: &str, count: usize) {
        for n in 0..count {
            self.bus.publish(topic, serde_json::json!(n)).key(format!("k{n}")).await.unwrap();
        }
    }
}

pub fn auth() -> AuthOptions {
    AuthOptions { jwt_secret: Some(SECRET.to_owned()), ..AuthOptions::default() }
}

pub fn token(scopes: &[&str]) -> String {
    let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
    mint(&TokenRequest { scopes, ..TokenRequest::default() }, SECRET).unwrap()
}

/// Of this subject.
pub fn token_of(subject: &str, scopes: &[&str]) -> String {
    let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
    mint(&TokenRequest { subject: subject.to_owned(), scopes, ..TokenRequest::default() }, SECRET).unwrap()
}

/// With the rules of a policy instead of scopes.
pub fn token_with_policy(rules: Value) -> String {
    let policy = Some(serde_json::from_value(rules).unwrap());
    mint(&TokenRequest { policy, ..TokenRequest::default() }, SECRET).unwrap()
}

struct Ticking {
    now_ms: AtomicI64,
    step_ms: i64,
}

impl Clock for Ticking {
    fn now_ms(&self) -> i64 {
        self.now_ms.fetch_add(self.step_ms, Ordering::Relaxed)
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// The machine's clock, put forward as far as a test likes.
pub struct Movable {
    clock: SystemClock,
    ahead_ms: AtomicI64,
}

impl Movable {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { clock: SystemClock::new(), ahead_ms: AtomicI64::new(0) })
    }

    /// By then every token that a test makes has expired.
    pub fn put_forward_two_days(&self) {
        self.ahead_ms.fetch_add(2 * 24 * 60 * 60 * 1000, Ordering::Relaxed);
    }
}

impl Clock for Movable {
    fn now_ms(&self) -> i64 {
        self.clock.now_ms() + self.ahead_ms.load(Ordering::Relaxed)
    }

    fn monotonic(&self) -> Duration {
        self.clock.monotonic()
    }
}

/// A request being put together.
pub struct Ask {
    request: axum::http::request::Builder,
    body: Body,
}

impl Ask {
    pub fn new(method: Method, path: &str) -> Self {
        Self { request: Request::builder().method(method).uri(path), body: Body::empty() }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    pub fn token(self, scopes: &[&str]) -> Self {
        let bearer = format!("Bearer {}", token(scopes));
        self.header("authorization", &bearer)
    }

    /// As this subject.
    pub fn by(self, subject: &str, scopes: &[&str]) -> Self {
        let bearer = format!("Bearer {}", token_of(subject, scopes));
        self.header("authorization", &bearer)
    }

    /// The answer, of which nothing is read.
    pub async fn unread(self, home: &Home) -> axum::response::Response {
        let request = self.request.body(self.body).unwrap();
        home.router().oneshot(request).await.unwrap()
    }

    pub fn body(mut self, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self
    }

    pub async fn send(self, home: &Home) -> Answer {
        let request = self.request.body(self.body).unwrap();
        let response = home.router().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Answer { status: parts.status, headers: parts.headers, body }
    }
}

impl Answer {
    pub fn content_type(&self) -> &str {
        self.headers.get(header::CONTENT_TYPE).map_or("", |value| value.to_str().unwrap())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The body of an answer that went well.
    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text());
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Each line of an answer that went well.
    #[track_caller]
    pub fn lines(&self) -> Vec<Value> {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text());
        assert_eq!(self.content_type(), "application/x-ndjson");
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The problem document of an answer that did not.
    #[track_caller]
    pub fn problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        assert_eq!(self.content_type(), "application/problem+json");
        let problem: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status, "{problem}");
        assert_eq!(problem["type"], format!("urn:promethean:problem:{code}"));
        assert!(problem["title"].is_string() && problem["detail"].is_string(), "{problem}");
        problem
    }
}

/// Waits until the condition holds, and fails when it does not within ten seconds.
pub async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    while !holds().await {
        assert!(tokio::time::Instant::now() < deadline, "not within ten seconds: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
