//! A hub with its two doors, and the same question asked at both.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use prom_auth::{AuthOptions, Authenticator};
use prom_engine::{Bus, BusOptions, TopicSettings};
use prom_gateway::{GatewayOptions, Hub, Listener, Listeners, Server};
use prom_store::{MemoryStore, SystemClock};
use prom_types::TopicName;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

const PATIENCE: Duration = Duration::from_secs(20);

pub struct Doors {
    pub bus: Bus,
    server: Server,
    http: reqwest::Client,
}

/// Something that needs a right.
#[derive(Debug, Clone, Copy)]
pub enum Deed<'q> {
    Publish(&'q str),
    /// Without a group: a topic, or over WebSocket also a pattern.
    Read(&'q str),
    /// In a group: a topic or a pattern. Over HTTP it is looked at, which takes `ops`.
    Group(&'q str, &'q str),
    Ops(&'q str),
    Admin(&'q str),
}

impl<'q> Deed<'q> {
    /// `publish a.b`, `read a.*`, `group a.b name`, `ops a`, `admin a`.
    pub fn parse(question: &'q str) -> Self {
        let words: Vec<&str> = question.split(' ').collect();
        match words[..] {
            ["publish", topic] => Self::Publish(topic),
            ["read", topic] => Self::Read(topic),
            ["group", topic, group] => Self::Group(topic, group),
            ["ops", topic] => Self::Ops(topic),
            ["admin", topic] => Self::Admin(topic),
            _ => panic!("{question}"),
        }
    }
}

/// What a door said: `ok`, or the code of its refusal.
pub type Verdict = String;

impl Doors {
    pub async fn with(auth: AuthOptions) -> Self {
        let clock = Arc::new(SystemClock::new());
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let bus = Bus::start(store, BusOptions::default()).await.unwrap();
        let hub = Hub::new(bus.clone(), Authenticator::new(auth).unwrap(), clock, GatewayOptions::default());
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::start(hub, Listeners::new(Listener::bind(listen).await.unwrap())).unwrap();
        Self { bus, server, http: reqwest::Client::builder().no_proxy().build().unwrap() }
    }

    /// Asks at every door that has this deed; returns how many there were.
    pub async fn check(&self, name: &str, token: Option<&str>, deed: Deed<'_>, expected: &str) -> usize {
        self.make_what_is_asked_about(deed).await;
        let mut verdicts = Vec::new();
        for (method, path, body) in http_deeds(deed) {
            let answer = self.over_http(token, method, &path, body.clone()).await;
            verdicts.push((path, answer));
        }
        for frame in websocket_deeds(deed) {
            let mut socket = self.connect().await;
            let auth = socket.ask(json!({"op": "AUTH", "token": token})).await;
            let verdict = if auth == "ok" { socket.ask(frame.clone()).await } else { auth };
            verdicts.push((frame.to_string(), verdict));
        }
        for (door, verdict) in &verdicts {
            assert_eq!(verdict, expected, "{name}: {deed:?} at {door}");
        }
        verdicts.len()
    }

    /// So that a refusal is about rights and not about things that do not exist.
    async fn make_what_is_asked_about(&self, deed: Deed<'_>) {
        let (Deed::Publish(topic) | Deed::Read(topic) | Deed::Group(topic, _) | Deed::Ops(topic) | Deed::Admin(topic)) =
            deed;
        if TopicName::parse(topic).is_ok()
            && let Ok(settings) = TopicSettings::new(topic)
        {
            // There already, or the hub's own: both are fine.
            drop(self.bus.create_topic(settings).await);
        }
        if let Deed::Group(topic, group) = deed {
            self.bus.subscribe(topic, group).start().await.unwrap().unsubscribe().await;
        }
    }

    pub async fn over_http(&self, token: Option<&str>, method: Method, path: &str, body: Option<Value>) -> Verdict {
        let mut request = self.http.request(method, format!("http://{}{path}", self.server.address()));
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(body) = body {
            request = request.body(body.to_string());
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        let code = || {
            let problem: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{status} {text}"));
            problem["code"].as_str().unwrap().to_owned()
        };
        match status {
            401 | 403 | 500.. => code(),
            _ => "ok".to_owned(),
        }
    }

    pub async fn connect(&self) -> Socket {
        let (socket, _) = tokio_tungstenite::connect_async(format!("ws://{}/ws", self.server.address())).await.unwrap();
        Socket(socket)
    }
}

fn http_deeds(deed: Deed<'_>) -> Vec<(Method, String, Option<Value>)> {
    let get = |path: String| (Method::GET, path, None);
    let is_topic = |topic: &str| TopicName::parse(topic).is_ok();
    match deed {
        Deed::Publish(topic) => {
            vec![(Method::POST, "/publish".to_owned(), Some(json!({"topic": topic, "payload": 1})))]
        }
        Deed::Read(topic) if is_topic(topic) => vec![
            get(format!("/replay?topic={topic}")),
            get(format!("/export?topic={topic}")),
            get(format!("/latest-by-key?topic={topic}&key=k")),
        ],
        Deed::Read(_) => Vec::new(),
        Deed::Group(topic, group) if is_topic(topic) => vec![get(format!("/why?topic={topic}&group={group}"))],
        Deed::Group(_, group) => vec![get(format!("/groups/{group}"))],
        Deed::Ops(topic) => vec![get(format!("/topics/{topic}")), get(format!("/lag?topic={topic}"))],
        Deed::Admin(topic) => vec![(Method::PUT, format!("/topics/{topic}"), Some(json!({"partitions": 1})))],
    }
}

fn websocket_deeds(deed: Deed<'_>) -> Vec<Value> {
    match deed {
        Deed::Publish(topic) => {
            let atomic = json!({"op": "PUBLISH", "events": [{"topic": topic, "payload": 1}], "atomic": true});
            vec![json!({"op": "PUBLISH", "topic": topic, "payload": 1}), atomic]
        }
        Deed::Read(topic) => {
            let beside = json!({"op": "SUBSCRIBE", "topic": topic, "opts": {"topics": [topic]}});
            vec![json!({"op": "SUBSCRIBE", "topic": topic}), beside]
        }
        Deed::Group(topic, group) => vec![json!({"op": "SUBSCRIBE", "topic": topic, "group": group})],
        Deed::Ops(_) | Deed::Admin(_) => Vec::new(),
    }
}

pub struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    /// The verdict of the answer.
    pub async fn ask(&mut self, frame: Value) -> Verdict {
        self.0.send(Message::text(frame.to_string())).await.unwrap();
        match self.next().await {
            Some(frame) if frame["op"] == "OK" => "ok".to_owned(),
            Some(frame) => frame["code"].as_str().unwrap_or_else(|| panic!("{frame}")).to_owned(),
            None => panic!("closed"),
        }
    }

    /// The next frame, or `None` when the hub closes.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            match tokio::time::timeout(PATIENCE, self.0.next()).await.expect("something in time") {
                Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(_))) | None => return None,
                Some(Ok(_)) => {}
                Some(Err(error)) => panic!("{error}"),
            }
        }
    }
}
