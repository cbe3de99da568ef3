//! A `redis-server` on a free port, with the append-only file on and snapshots off.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use prom_types::Position;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, cmd};
use tokio::process::Command;

use super::client::{RedisConsumer, RedisPublisher, RedisTail};
use crate::hub::process::free_address;
use crate::load::contender::{About, Consumer, Contender, Publisher, Server, ServerDirs, Tail};
use crate::load::topics::{GROUP, Topics};
use crate::page_cache;
use crate::peers::tools;
use crate::server_process::ServerProcess;

/// It reads its whole file before it answers.
const PATIENCE: Duration = Duration::from_secs(120);

/// When Redis syncs its append-only file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fsync {
    EverySecond,
    Always,
}

impl Fsync {
    fn word(self) -> &'static str {
        match self {
            Self::EverySecond => "everysec",
            Self::Always => "always",
        }
    }
}

pub struct Redis {
    pub about: About,
    pub program: PathBuf,
    pub fsync: Fsync,
}

#[async_trait]
impl Contender for Redis {
    fn about(&self) -> &About {
        &self.about
    }

    async fn version(&self) -> anyhow::Result<String> {
        tools::version(&self.program, "--version").await
    }

    async fn start(&self, dirs: &ServerDirs) -> anyhow::Result<Box<dyn Server>> {
        let dir = dirs.fresh(self.about.id)?;
        let running = Running::start(&self.program, &dir, self.fsync).await?;
        let consumers = AtomicU32::new(0);
        Ok(Box::new(RedisServer {
            program: self.program.clone(),
            fsync: self.fsync,
            dir,
            running: Some(running),
            consumers,
        }))
    }
}

struct Running {
    process: ServerProcess,
    address: SocketAddr,
}

impl Running {
    async fn start(program: &Path, dir: &Path, fsync: Fsync) -> anyhow::Result<Self> {
        let address = free_address()?;
        let mut command = Command::new(program);
        command
            .args(["--bind", "127.0.0.1", "--port", &address.port().to_string()])
            .args(["--appendonly", "yes", "--appendfsync", fsync.word(), "--save", "", "--daemonize", "no"])
            .arg("--dir")
            .arg(dir);
        let mut process = ServerProcess::spawn("redis-server", command, &dir.join("log"))?;
        process.ready(PATIENCE, || is_ready(address)).await?;
        Ok(Self { process, address })
    }
}

/// While it loads its file it answers every command with an error.
async fn is_ready(address: SocketAddr) -> bool {
    match connect(address).await {
        Ok(mut connection) => cmd("PING").exec_async(&mut connection).await.is_ok(),
        Err(_) => false,
    }
}

async fn connect(address: SocketAddr) -> anyhow::Result<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new().set_response_timeout(None).set_connection_timeout(None);
    let client = Client::open(format!("redis://{address}"))?;
    Ok(client.get_multiplexed_async_connection_with_config(&config).await?)
}

struct RedisServer {
    program: PathBuf,
    fsync: Fsync,
    dir: PathBuf,
    running: Option<Running>,
    consumers: AtomicU32,
}

impl RedisServer {
    async fn connection(&self) -> anyhow::Result<MultiplexedConnection> {
        connect(self.running.as_ref().context("redis-server has been stopped")?.address).await
    }

    async fn set(&self, fsync: Fsync) -> anyhow::Result<()> {
        let mut connection = self.connection().await?;
        Ok(cmd("CONFIG").arg(&["SET", "appendfsync", fsync.word()]).exec_async(&mut connection).await?)
    }
}

#[async_trait]
impl Server for RedisServer {
    async fn make(&self, topics: &Topics) -> anyhow::Result<()> {
        // The group makes its stream; publishing to many makes them as it goes.
        let mut connection = self.connection().await?;
        let made =
            cmd("XGROUP").arg(&["CREATE", &topics.name(0), GROUP, "0", "MKSTREAM"]).exec_async(&mut connection).await;
        match made {
            Err(error) if error.code() == Some("BUSYGROUP") => Ok(()),
            other => Ok(other?),
        }
    }

    async fn publisher(&self, topics: &Topics) -> anyhow::Result<Box<dyn Publisher>> {
        Ok(Box::new(RedisPublisher::new(self.connection().await?, topics)))
    }

    async fn consumer(&self, topics: &Topics) -> anyhow::Result<Box<dyn Consumer>> {
        let number = self.consumers.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(RedisConsumer {
            connection: self.connection().await?,
            key: topics.name(0),
            name: format!("consumer{number}"),
        }))
    }

    async fn tail(&self, topics: &Topics, from: Position) -> anyhow::Result<Box<dyn Tail>> {
        Ok(Box::new(RedisTail::begin(self.connection().await?, topics.name(0), from).await?))
    }

    async fn loosen(&mut self) -> anyhow::Result<()> {
        match self.fsync {
            Fsync::EverySecond => Ok(()),
            Fsync::Always => self.set(Fsync::EverySecond).await,
        }
    }

    async fn tighten(&mut self) -> anyhow::Result<()> {
        match self.fsync {
            Fsync::EverySecond => Ok(()),
            Fsync::Always => self.set(Fsync::Always).await,
        }
    }

    async fn restart(&mut self) -> anyhow::Result<()> {
        if let Some(running) = self.running.take() {
            running.process.terminate(PATIENCE).await?;
        }
        page_cache::forget(&self.dir)?;
        self.running = Some(Running::start(&self.program, &self.dir, self.fsync).await?);
        Ok(())
    }

    fn check(&mut self) -> anyhow::Result<()> {
        self.running.as_mut().map_or(Ok(()), |running| running.process.check())
    }

    fn process(&self) -> i32 {
        self.running.as_ref().map_or(0, |running| running.process.id())
    }

    async fn stop(mut self: Box<Self>) -> anyhow::Result<()> {
        // Killed, not asked: it would write out what is about to be removed.
        self.running = None;
        Ok(std::fs::remove_dir_all(&self.dir)?)
    }
}
