//! A real endpoint on the loopback that publishes keys, or answers whatever the test sets.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

#[derive(Clone)]
pub enum EndpointAnswer {
    Body(String),
    Status(u16),
    Redirect(String),
}

pub struct TestEndpoint {
    address: SocketAddr,
    script: Arc<Script>,
}

struct Script {
    answer: Mutex<EndpointAnswer>,
    requests: watch::Sender<usize>,
    /// Requests are held until this is true.
    open: watch::Sender<bool>,
}

impl TestEndpoint {
    pub async fn publishing(keys: &[Value]) -> Self {
        let endpoint = Self::answering(EndpointAnswer::Status(404)).await;
        endpoint.publish(keys);
        endpoint
    }

    pub async fn answering(answer: EndpointAnswer) -> Self {
        let (requests, _) = watch::channel(0);
        let (open, _) = watch::channel(true);
        let script = Arc::new(Script { answer: Mutex::new(answer), requests, open });
        let router = Router::new().route("/keys", get(serve)).route("/", get(|| async {})).with_state(script.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, script }
    }

    pub fn url(&self) -> String {
        format!("http://{}/keys", self.address)
    }

    pub fn publish(&self, keys: &[Value]) {
        self.answer(EndpointAnswer::Body(json!({"keys": keys}).to_string()));
    }

    pub fn answer(&self, answer: EndpointAnswer) {
        *self.script.answer.lock().unwrap() = answer;
    }

    pub fn hold(&self) {
        self.script.open.send_replace(false);
    }

    pub fn release(&self) {
        self.script.open.send_replace(true);
    }

    pub fn requests(&self) -> usize {
        *self.script.requests.borrow()
    }

    /// When it returns, all earlier requests have arrived at the endpoint.
    pub async fn round_trip(&self) {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        client.get(format!("http://{}/", self.address)).send().await.unwrap().error_for_status().unwrap();
    }

    pub async fn wait_for_requests(&self, count: usize) {
        let mut requests = self.script.requests.subscribe();
        let arrived = requests.wait_for(|requests| *requests >= count);
        tokio::time::timeout(Duration::from_secs(10), arrived).await.expect("no request came").unwrap();
    }
}

async fn serve(State(script): State<Arc<Script>>) -> Response {
    script.requests.send_modify(|requests| *requests += 1);
    script.open.subscribe().wait_for(|open| *open).await.unwrap();
    let answer = script.answer.lock().unwrap().clone();
    match answer {
        EndpointAnswer::Body(body) => body.into_response(),
        EndpointAnswer::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        EndpointAnswer::Redirect(to) => (StatusCode::FOUND, [("location", to)]).into_response(),
    }
}

/// An address without a listener.
pub async fn unreachable_url() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}/keys", listener.local_addr().unwrap())
}
