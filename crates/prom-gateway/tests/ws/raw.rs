//! A client that sends whatever it likes, byte by byte.

use bytes::BytesMut;
use prom_protocol::websocket::{Decoder, Message, Role, encode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::scene::{PATIENCE, Scene};

pub struct Raw {
    pub socket: TcpStream,
    decoder: Decoder,
    buffer: BytesMut,
}

/// What the hub said last.
#[derive(Debug, PartialEq)]
pub struct Farewell {
    /// Codes of the ERR frames.
    pub errors: Vec<String>,
    pub close: Option<u16>,
}

impl Raw {
    /// A WebSocket that has said nothing yet.
    pub async fn connect(scene: &Scene) -> Self {
        let (status, raw) = Self::upgrade(scene, "/ws", &[]).await;
        assert_eq!(status, 101);
        raw
    }

    /// Asks for a WebSocket and gets this status.
    pub async fn upgrade(scene: &Scene, path: &str, headers: &[(&str, &str)]) -> (u16, Self) {
        let address = scene.server.address();
        let mut all = vec![
            ("host", format!("{address}")),
            ("connection", "Upgrade".to_owned()),
            ("upgrade", "websocket".to_owned()),
            ("sec-websocket-version", "13".to_owned()),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==".to_owned()),
        ];
        for (name, value) in headers {
            all.retain(|(known, _)| known != name);
            all.push((name, (*value).to_owned()));
        }
        let mut request = format!("GET {path} HTTP/1.1\r\n");
        for (name, value) in all.iter().filter(|(_, value)| !value.is_empty()) {
            request += &format!("{name}: {value}\r\n");
        }
        request += "\r\n";
        let mut socket = TcpStream::connect(address).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(timeout(PATIENCE, socket.read_u8()).await.unwrap().unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, Self { socket, decoder: Decoder::new(Role::Client, 16 << 20), buffer: BytesMut::new() })
    }

    /// Let in.
    pub async fn client(scene: &Scene) -> Self {
        let mut raw = Self::connect(scene).await;
        raw.send(json!({"op": "AUTH"})).await;
        assert_eq!(raw.frame().await["op"], "OK");
        raw
    }

    pub async fn send(&mut self, frame: Value) {
        let mut out = Vec::new();
        encode::text(&mut out, frame.to_string().as_bytes(), Role::Client, [1, 2, 3, 4]);
        self.send_bytes(&out).await;
    }

    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).await.unwrap();
    }

    pub async fn message(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = self.decoder.next(&mut self.buffer).unwrap() {
                return Some(message);
            }
            let read = timeout(PATIENCE, self.socket.read_buf(&mut self.buffer)).await.expect("something in time");
            if read.unwrap() == 0 {
                return None;
            }
        }
    }

    pub async fn frame(&mut self) -> Value {
        loop {
            match self.message().await {
                Some(Message::Text(text)) => return serde_json::from_slice(&text).unwrap(),
                Some(Message::Ping(_)) => {}
                other => panic!("a frame was expected, not {other:?}"),
            }
        }
    }

    /// Everything until the hub ends the connection.
    pub async fn farewell(&mut self) -> Farewell {
        let mut farewell = Farewell { errors: Vec::new(), close: None };
        while let Some(message) = self.message().await {
            match message {
                Message::Text(text) => {
                    let frame: Value = serde_json::from_slice(&text).unwrap();
                    if frame["op"] == "ERR" {
                        farewell.errors.push(frame["code"].as_str().unwrap().to_owned());
                    }
                }
                Message::Close(code) => {
                    farewell.close = code;
                    return farewell;
                }
                Message::Ping(_) | Message::Pong => {}
            }
        }
        farewell
    }
}

/// A frame of a client: first byte, length as announced, and as much payload as there is.
pub fn frame(first: u8, announced: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match announced {
        0..=125 => bytes.push(0x80 | announced as u8),
        126..=0xFFFF => {
            bytes.push(0x80 | 126);
            bytes.extend_from_slice(&(announced as u16).to_be_bytes());
        }
        _ => {
            bytes.push(0x80 | 127);
            bytes.extend_from_slice(&announced.to_be_bytes());
        }
    }
    // A mask of zeros changes nothing.
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(payload);
    bytes
}
