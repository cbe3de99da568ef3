//! The hub as a process of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::args::Args;

const PATIENCE: Duration = Duration::from_secs(10);

pub struct HubProcess {
    child: Child,
    pub address: SocketAddr,
    pub ready_ms: f64,
}

impl HubProcess {
    /// Starts it on a free port with its data in `data`.
    pub async fn start(args: &Args, data: &Path) -> anyhow::Result<Self> {
        let prom = match &args.prom {
            Some(path) => path.clone(),
            None => beside_this_program()?,
        };
        let address = free_address()?;
        let started = Instant::now();
        let child = Command::new(&prom)
            .args(["serve", "--listen", &address.to_string(), "--data"])
            .arg(data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("starting {}; build it with `cargo build --release`", prom.display()))?;
        while !is_ready(address).await {
            ensure!(started.elapsed() < PATIENCE, "the hub is not ready after {PATIENCE:?}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(Self { child, address, ready_ms: started.elapsed().as_secs_f64() * 1e3 })
    }

    pub fn resident_mb(&self) -> anyhow::Result<f64> {
        let Some(id) = self.child.id() else {
            bail!("the hub has ended");
        };
        let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
        let kilobytes = |line: &str| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse::<f64>().ok();
        let found = status.lines().find_map(kilobytes);
        Ok(found.context("the operating system does not say")? / 1e3)
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
    pub async fn stop(mut self) -> anyhow::Result<()> {
        if let Some(id) = self.child.id() {
            let ended = Command::new("kill").args(["-TERM", &id.to_string()]).status().await?;
            ensure!(ended.success(), "the hub could not be told to end");
        }
        let status = tokio::time::timeout(PATIENCE, self.child.wait()).await.context("the hub did not end")??;
        ensure!(status.success(), "the hub ended with {status}");
        Ok(())
    }
}

fn beside_this_program() -> anyhow::Result<PathBuf> {
    let this = std::env::current_exe()?;
    Ok(this.with_file_name("prom"))
}

fn free_address() -> anyhow::Result<SocketAddr> {
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
