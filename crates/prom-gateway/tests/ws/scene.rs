//! A hub on a free port and clients that speak plain frames through an implementation not written here.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use prom_auth::{AuthOptions, Authenticator, TokenRequest, mint};
use prom_engine::{Bus, BusOptions, HubOptions};
use prom_gateway::{
    Collaborators, Dialer, GatewayOptions, Hub, Listeners, Peers, ServeError, Server, ServerOptions, Tls,
};
use prom_store::{MemoryStore, Store, SystemClock};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// Longer than anything takes that works.
pub const PATIENCE: Duration = Duration::from_secs(20);
pub const SECRET: &str = "a secret that only tests know and that is long enough";

pub struct Scene {
    pub bus: Bus,
    pub server: Server,
}

impl Scene {
    /// Open to everybody, in memory.
    pub async fn open() -> Self {
        Self::limited(GatewayOptions::default()).await
    }

    /// Open to everybody, with limits of its own.
    pub async fn limited(options: GatewayOptions) -> Self {
        Self::with(AuthOptions::default(), options).await
    }

    /// Tokens are needed; see [`token`].
    pub async fn protected() -> Self {
        Self::with(auth(), GatewayOptions::default()).await
    }

    pub async fn with(auth: AuthOptions, options: GatewayOptions) -> Self {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
        Self::over(store, BusOptions::default(), auth, options).await
    }

    pub async fn over(store: Arc<dyn Store>, bus: BusOptions, auth: AuthOptions, options: GatewayOptions) -> Self {
        let clock = bus.clock.clone();
        let bus = Bus::start(store, bus).await.unwrap();
        let hub = Hub::new(bus.clone(), Authenticator::new(auth).unwrap(), clock, options);
        let server = serve(hub, &loopback()).await.unwrap();
        Self { bus, server }
    }

    /// One of several hubs on a store.
    pub async fn among_others(store: &Arc<MemoryStore>, auth: AuthOptions, hub_ttl: Duration) -> Self {
        Self::among_others_by(store, auth, hub_ttl, None).await
    }

    /// As [`Scene::among_others`], by TLS; the hubs trust each other's certificate.
    pub async fn among_others_by(
        store: &Arc<MemoryStore>,
        auth: AuthOptions,
        hub_ttl: Duration,
        tls: Option<Tls>,
    ) -> Self {
        let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{address}");
        let hub = Some(HubOptions { url: url.clone(), ttl: hub_ttl });
        let options = BusOptions { hub, ..BusOptions::default() };
        let clock = options.clock.clone();
        let bus = Bus::start(store.clone(), options).await.unwrap();
        let ca = tls.as_ref().map(|tls| tls.cert.clone());
        let dialer = Dialer::new(ca.as_deref()).unwrap();
        let peers = Peers::join(&bus, clock.clone(), &url, dialer).await.unwrap();
        let collaborators = Collaborators { peers: Some(peers), ..Collaborators::default() };
        let auth = Authenticator::new(auth).unwrap();
        let hub = Hub::with(bus.clone(), auth, clock, GatewayOptions::default(), collaborators);
        let server = serve(hub, &ServerOptions { listen: address, tls, ..loopback() }).await.unwrap();
        Self { bus, server }
    }

    /// Connected, without AUTH.
    pub async fn connect(&self) -> Client {
        let url = format!("ws://{}/ws", self.server.address());
        let (socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
        Client { socket }
    }

    /// Connected and let in.
    pub async fn client(&self) -> Client {
        let mut client = self.connect().await;
        client.ok(json!({"op": "AUTH"})).await;
        client
    }

    /// Connected and let in with these scopes.
    pub async fn client_with(&self, scopes: &[&str]) -> Client {
        let mut client = self.connect().await;
        client.ok(json!({"op": "AUTH", "token": token("alpha", scopes)})).await;
        client
    }
}

/// Binds and serves.
pub async fn serve(hub: Arc<Hub>, options: &ServerOptions) -> Result<Server, ServeError> {
    Server::start(hub, Listeners::bind(options).await?)
}

/// A free port of this machine.
pub fn loopback() -> ServerOptions {
    ServerOptions { listen: SocketAddr::from(([127, 0, 0, 1], 0)), ops_listen: None, tls: None }
}

pub fn auth() -> AuthOptions {
    AuthOptions { jwt_secret: Some(SECRET.to_owned()), ..AuthOptions::default() }
}

pub fn token(subject: &str, scopes: &[&str]) -> String {
    token_for(subject, scopes, Duration::from_secs(3600))
}

pub fn token_for(subject: &str, scopes: &[&str], lifetime: Duration) -> String {
    let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
    mint(&TokenRequest { subject: subject.to_owned(), scopes, lifetime, ..TokenRequest::default() }, SECRET).unwrap()
}

/// Waits until the condition holds, and fails when it does not in time.
pub async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !holds().await {
        assert!(tokio::time::Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub struct Client {
    pub socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Client {
    pub async fn send(&mut self, frame: Value) {
        self.send_text(&frame.to_string()).await;
    }

    pub async fn send_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    /// The next message, whatever it is.
    pub async fn message(&mut self) -> Option<Message> {
        let next = tokio::time::timeout(PATIENCE, self.socket.next()).await.expect("a message in time");
        next.map(|message| message.unwrap())
    }

    /// The next frame.
    pub async fn frame(&mut self) -> Value {
        loop {
            match self.message().await {
                Some(Message::Text(text)) => return serde_json::from_str(&text).unwrap(),
                Some(Message::Ping(_) | Message::Pong(_)) => {}
                other => panic!("a frame was expected, not {other:?}"),
            }
        }
    }

    /// Sends a frame and gets its answer; fails if something else comes first.
    pub async fn ask(&mut self, frame: Value) -> Value {
        self.send(frame).await;
        self.frame().await
    }

    /// As [`Client::ask`], for frames that must succeed.
    pub async fn ok(&mut self, frame: Value) -> Value {
        let answer = self.ask(frame.clone()).await;
        assert_eq!(answer["op"], "OK", "{frame} was answered by {answer}");
        answer
    }

    /// As [`Client::ask`], for frames that must be refused with this code.
    pub async fn err(&mut self, code: &str, frame: Value) -> Value {
        let answer = self.ask(frame.clone()).await;
        assert_eq!((&answer["op"], &answer["code"]), (&json!("ERR"), &json!(code)), "{frame} was answered by {answer}");
        answer
    }

    pub async fn event(&mut self) -> Value {
        let frame = self.frame().await;
        assert_eq!(frame["op"], "EVENT", "{frame}");
        frame
    }

    /// Acks an event in the way it was delivered.
    pub async fn ack(&mut self, delivered: &Value) -> Value {
        let (topic, group, id) = (&delivered["topic"], &delivered["group"], &delivered["event"]["id"]);
        self.ok(json!({"op": "ACK", "topic": topic, "group": group, "id": id})).await
    }

    /// The payloads of so many events, each acked.
    pub async fn take_acked(&mut self, count: usize) -> Vec<Value> {
        let mut payloads = Vec::new();
        let mut waiting = std::collections::VecDeque::new();
        while payloads.len() < count {
            let event = match waiting.pop_front() {
                Some(event) => event,
                None => self.event().await,
            };
            let (topic, group, id) = (&event["topic"], &event["group"], &event["event"]["id"]);
            self.send(json!({"op": "ACK", "topic": topic, "group": group, "id": id})).await;
            loop {
                match self.frame().await {
                    frame if frame["op"] == "EVENT" => waiting.push_back(frame),
                    frame => break assert_eq!(frame["op"], "OK", "{frame}"),
                }
            }
            payloads.push(event["event"]["payload"].clone());
        }
        payloads
    }

    /// Every frame until the close, and its code.
    pub async fn last_words(&mut self) -> (Vec<Value>, Option<u16>) {
        let mut frames = Vec::new();
        loop {
            match self.message().await {
                Some(Message::Text(text)) => frames.push(serde_json::from_str(&text).unwrap()),
                Some(Message::Close(close)) => return (frames, close.map(|close| close.code.into())),
                Some(_) => {}
                None => return (frames, None),
            }
        }
    }
}
