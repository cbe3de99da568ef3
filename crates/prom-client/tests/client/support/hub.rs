//! A hub that does nothing by itself: tests read what the client sent and say what it hears.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::BytesMut;
use prom_protocol::Request;
use prom_protocol::websocket::{Decoder, Message, Role, encode};
use serde_json::{Value, json};
use sha1::{Digest, Sha1};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

use super::within;

pub struct Hub {
    listener: TcpListener,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The hub's end of one connection.
pub struct Peer {
    stream: Box<dyn Stream>,
    incoming: BytesMut,
    decoder: Decoder,
    /// Pings that came.
    pub pings: usize,
    /// Pongs that came.
    pub pongs: usize,
}

impl Hub {
    pub async fn start() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").await.unwrap() }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.listener.local_addr().unwrap())
    }

    pub async fn stream(&self) -> tokio::net::TcpStream {
        within(self.listener.accept()).await.unwrap().0
    }

    /// The next connection, upgraded.
    pub async fn accept(&self) -> Peer {
        Peer::upgrade(self.stream().await).await
    }

    /// The next connection, its AUTH answered: batches are agreed on.
    pub async fn welcome(&self) -> Peer {
        self.welcome_with(json!({"features": ["batch"]})).await
    }

    pub async fn welcome_with(&self, welcome: Value) -> Peer {
        let mut peer = self.accept().await;
        let auth = peer.frame("AUTH").await;
        peer.ok_with(&auth, welcome).await;
        peer
    }

    /// True if no connection is waiting.
    pub async fn is_left_alone(&self) -> bool {
        let wait = std::time::Duration::from_millis(300);
        tokio::time::timeout(wait, self.listener.accept()).await.is_err()
    }
}

impl Peer {
    pub async fn upgrade(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Self {
        let mut stream: Box<dyn Stream> = Box::new(stream);
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(within(stream.read_u8()).await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        assert!(head.starts_with("GET /ws HTTP/1.1\r\n"), "{head}");
        let header = |name: &str| {
            let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(name)).unwrap_or_default();
            line.split_once(": ").unwrap_or_default().1.to_owned()
        };
        let key = header("sec-websocket-key");
        let accept = Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: {}\r\n\r\n",
            STANDARD.encode(accept)
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
        Self { stream, incoming: BytesMut::new(), decoder: Decoder::new(Role::Hub, 64 << 20), pings: 0, pongs: 0 }
    }

    /// The next frame; it has to be this one.
    pub async fn frame(&mut self, op: &str) -> Value {
        let frame = within(self.next()).await.expect("the client hung up");
        assert_eq!(frame["op"], op, "{frame}");
        frame
    }

    /// The next frame, or `None` when the client closed or hung up.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            while let Some(message) = self.decoder.next(&mut self.incoming).unwrap() {
                match message {
                    Message::Text(text) => {
                        Request::read(&text).expect("a frame that a hub can read");
                        return Some(serde_json::from_slice(&text).unwrap());
                    }
                    Message::Ping(_) => self.pings += 1,
                    Message::Pong => self.pongs += 1,
                    Message::Close(_) => return None,
                }
            }
            match self.stream.read_buf(&mut self.incoming).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    /// True if nothing but control frames comes for a while.
    pub async fn is_quiet(&mut self) -> bool {
        let wait = std::time::Duration::from_millis(200);
        tokio::time::timeout(wait, self.next()).await.is_err()
    }

    pub async fn send_text(&mut self, text: &str) {
        let mut out = Vec::new();
        encode::text(&mut out, text.as_bytes(), Role::Hub, [0; 4]);
        // The client may be gone already.
        let _gone = self.stream.write_all(&out).await;
        let _gone = self.stream.flush().await;
    }

    pub async fn send(&mut self, frame: Value) {
        self.send_text(&frame.to_string()).await;
    }

    pub async fn ok(&mut self, asked: &Value) {
        self.ok_with(asked, json!({})).await;
    }

    pub async fn ok_with(&mut self, asked: &Value, members: Value) {
        let mut frame = json!({"op": "OK", "corr": asked["corr"]});
        frame.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        self.send(frame).await;
    }

    pub async fn err(&mut self, asked: &Value, code: &str) {
        self.err_with(asked, code, json!({})).await;
    }

    pub async fn err_with(&mut self, asked: &Value, code: &str, members: Value) {
        let mut frame = json!({"op": "ERR", "corr": asked["corr"], "code": code, "msg": format!("said {code}")});
        frame.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        self.send(frame).await;
    }

    /// The answer to a PUBLISH of one event.
    pub async fn receipt(&mut self, asked: &Value, offset: u64) {
        let id = &asked["opts"]["id"];
        let receipt = json!({"id": id, "partition": 0, "offset": offset, "stored_ts": 1, "durability": "memory"});
        self.ok_with(asked, receipt).await;
    }

    /// The answer to a PUBLISH of many, all stored.
    pub async fn receipts(&mut self, asked: &Value, first_offset: u64) {
        let count = asked["events"].as_array().unwrap().len() as u64;
        let results: Vec<Value> = (0..count).map(|at| json!([0, first_offset + at, 1])).collect();
        self.ok_with(asked, json!({"durability": "memory", "results": results})).await;
    }

    /// Takes and answers a SUBSCRIBE.
    pub async fn subscribe(&mut self) -> Value {
        let frame = self.frame("SUBSCRIBE").await;
        self.ok(&frame).await;
        frame
    }

    /// One event of a group, leased for so long.
    pub async fn lease(&mut self, topic: &str, group: &str, event: Value, ack_deadline_ms: u64) {
        let ctx = json!({"attempt": 1, "max_attempts": 5, "ack_deadline_ms": ack_deadline_ms});
        self.send(json!({"op": "EVENT", "topic": topic, "group": group, "event": event, "ctx": ctx})).await;
    }

    pub async fn ping(&mut self) {
        let mut out = Vec::new();
        encode::ping(&mut out, Role::Hub, [0; 4]);
        self.stream.write_all(&out).await.unwrap();
    }

    pub async fn close(mut self, code: u16) {
        let mut out = Vec::new();
        encode::close(&mut out, code, "", Role::Hub, [0; 4]);
        self.stream.write_all(&out).await.unwrap();
        // Until the client has read it.
        while self.next().await.is_some() {}
    }
}

pub fn event(topic: &str, offset: u64) -> Value {
    json!({
        "id": format!("01890a5d-ac96-774b-bcce-{offset:012x}"), "ts": 1, "stored_ts": 1_000_000 + offset,
        "topic": topic, "partition": 0, "offset": offset, "payload": offset,
    })
}
