//! A hub on a free port and clients that speak plain frames through an implementation not written here.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use prom_auth::{AuthOptions, Authenticator};
use prom_engine::{Bus, BusOptions};
use prom_gateway::{GatewayOptions, Hub, Server, ServerOptions};
use prom_store::{MemoryStore, SystemClock};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// Longer than anything takes that works.
pub const PATIENCE: Duration = Duration::from_secs(10);

pub struct Scene {
    pub bus: Bus,
    pub server: Server,
}

impl Scene {
    /// Open to everybody, in memory.
    pub async fn open() -> Self {
        Self::with(AuthOptions::default(), GatewayOptions::default()).await
    }

    pub async fn with(auth: AuthOptions, options: GatewayOptions) -> Self {
        let clock = Arc::new(SystemClock::new());
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let bus_options = BusOptions { clock: clock.clone(), ..BusOptions::default() };
        let bus = Bus::start(store, bus_options).await.unwrap();
        let auth = Authenticator::new(auth).unwrap();
        let hub = Hub::new(bus.clone(), auth, clock, options);
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Server::start(hub, ServerOptions { listen, ops_listen: None, tls: None }).await.unwrap();
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
        assert_eq!(client.ask(json!({"op": "AUTH"})).await["op"], "OK");
        client
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

    /// The code with which the hub closes; frames before it are skipped.
    pub async fn closed(&mut self) -> Option<u16> {
        loop {
            match self.message().await {
                Some(Message::Close(close)) => return close.map(|close| close.code.into()),
                Some(_) => {}
                None => return None,
            }
        }
    }
}
