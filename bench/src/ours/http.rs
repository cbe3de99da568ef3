//! The little HTTP that measurements need: a request whose answer ends with its connection.

use std::net::SocketAddr;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends the request; the answer can be read.
pub async fn ask(address: SocketAddr, path: &str) -> anyhow::Result<TcpStream> {
    let mut socket = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await?;
    Ok(socket)
}

/// The whole answer, with its head.
pub async fn get(address: SocketAddr, path: &str) -> anyhow::Result<String> {
    let mut answer = String::new();
    ask(address, path).await?.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// How many events a topic has.
pub async fn head(address: SocketAddr, topic: &str) -> anyhow::Result<u64> {
    let answer = get(address, &format!("/topics/{topic}")).await?;
    let topic: serde_json::Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap_or_default())?;
    topic["partitions"][0]["head"].as_u64().with_context(|| format!("no head in {topic}"))
}
