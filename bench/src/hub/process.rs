//! The hub as a process of its own.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::proc::{self, Resident};
use crate::server_process::ServerProcess;

/// A hub with ten thousand topics on a busy disk takes its time to end.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct HubProcess {
    process: ServerProcess,
    pub address: SocketAddr,
    pub ready_ms: f64,
}

impl HubProcess {
    /// Starts it on a free port with its data in `data`.
    pub async fn start(prom: &Path, data: &Path) -> anyhow::Result<Self> {
        let address = free_address()?;
        let mut command = Command::new(prom);
        command.args(["serve", "--listen", &address.to_string(), "--data"]).arg(data);
        let mut process = ServerProcess::spawn("the hub", command, &data.with_extension("log"))
            .context("build it with `cargo build --release`, or name one with --prom")?;
        let ready_ms = process.ready(PATIENCE, || is_ready(address)).await?;
        Ok(Self { process, address, ready_ms })
    }

    pub fn resident(&self) -> anyhow::Result<Resident> {
        proc::resident(self.process.id())
    }

    pub fn resident_mb(&self) -> anyhow::Result<f64> {
        Ok(self.resident()?.total_mb)
    }

    pub fn id(&self) -> i32 {
        self.process.id()
    }

    /// An error, with what it said last, if it has ended.
    pub fn check(&mut self) -> anyhow::Result<()> {
        self.process.check()
    }

    /// How many events a topic has.
    pub async fn head(&self, topic: &str) -> anyhow::Result<u64> {
        let mut socket = TcpStream::connect(self.address).await?;
        let request = format!("GET /topics/{topic} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await?;
        let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
        let topic: serde_json::Value = serde_json::from_str(body)?;
        topic["partitions"][0]["head"].as_u64().with_context(|| format!("no head in {topic}"))
    }

    /// Ends it in order.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.process.terminate(PATIENCE).await
    }
}

pub fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

async fn is_ready(address: SocketAddr) -> bool {
    let asked = async {
        let mut socket = TcpStream::connect(address).await?;
        socket.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await?;
        let mut answer = [0; 12];
        socket.read_exact(&mut answer).await?;
        std::io::Result::Ok(&answer == b"HTTP/1.1 200")
    };
    asked.await.unwrap_or(false)
}
