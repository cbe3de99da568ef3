//! A RabbitMQ node with its own directories, ports and name.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use lapin::{Connection, ConnectionProperties};
use tokio::process::Command;
use tokio::sync::{Mutex, MutexGuard};

use crate::hub::process::free_address;
use crate::load::contender::ServerDirs;
use crate::page_cache;
use crate::server_process::ServerProcess;

const PATIENCE: Duration = Duration::from_secs(90);

pub struct Node {
    program: PathBuf,
    epmd: PathBuf,
    running: Mutex<Option<Running>>,
}

pub struct Running {
    pub server: ServerProcess,
    /// The port mapper that every Erlang node wants; in the foreground and ours, so that it ends with us.
    _epmd: ServerProcess,
    pub address: SocketAddr,
    dir: PathBuf,
    epmd_port: u16,
}

impl Node {
    pub fn new(program: PathBuf, epmd: PathBuf) -> Self {
        Self { program, epmd, running: Mutex::new(None) }
    }

    /// Starts it, or resumes it where it is suspended.
    pub async fn wake(&self, dirs: &ServerDirs) -> anyhow::Result<()> {
        let mut running = self.running.lock().await;
        if let Some(running) = running.as_ref() {
            return running.server.resume();
        }
        let dir = dirs.fresh("rabbitmq")?;
        let epmd_port = free_address()?.port();
        let mut command = Command::new(&self.epmd);
        command.args(["-port", &epmd_port.to_string(), "-address", "127.0.0.1"]);
        let epmd = ServerProcess::spawn("epmd", command, &dir.join("epmd.log"))?;
        let (server, address) = self.boot(&dir, epmd_port).await?;
        *running = Some(Running { server, _epmd: epmd, address, dir, epmd_port });
        Ok(())
    }

    async fn boot(&self, dir: &std::path::Path, epmd_port: u16) -> anyhow::Result<(ServerProcess, SocketAddr)> {
        let (address, distribution) = (free_address()?, free_address()?);
        let config = dir.join("rabbitmq.conf");
        std::fs::write(&config, format!("listeners.tcp.1 = {address}\n"))?;
        std::fs::write(dir.join("enabled_plugins"), "[].\n")?;
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", dir)
            .env("RABBITMQ_NODENAME", "prom-bench@localhost")
            .env("RABBITMQ_CONFIG_FILE", dir.join("rabbitmq"))
            .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
            .env("RABBITMQ_MNESIA_BASE", dir.join("mnesia"))
            .env("RABBITMQ_LOG_BASE", dir)
            .env("RABBITMQ_LOGS", "-")
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", dir.join("enabled_plugins"))
            .env("RABBITMQ_DIST_PORT", distribution.port().to_string())
            .env("ERL_EPMD_PORT", epmd_port.to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1");
        let mut server = ServerProcess::spawn("rabbitmq-server", command, &dir.join("log"))?;
        server.ready(PATIENCE, || is_ready(address)).await?;
        Ok((server, address))
    }

    /// Ends it, drops its files from memory, and starts it again.
    pub async fn restart(&self) -> anyhow::Result<()> {
        let mut guard = self.running.lock().await;
        let Running { server, _epmd, dir, epmd_port, .. } = guard.take().context("RabbitMQ does not run")?;
        server.terminate(PATIENCE).await?;
        page_cache::forget(&dir)?;
        let (server, address) = self.boot(&dir, epmd_port).await?;
        *guard = Some(Running { server, _epmd, address, dir, epmd_port });
        Ok(())
    }

    /// Starting it only to ask would take seconds; the folder it is installed in has it in its name.
    pub fn version(&self) -> String {
        let file = self.program.canonicalize().unwrap_or_default();
        let folders = file.iter().filter_map(|part| part.to_str());
        let version = folders.filter_map(|part| part.strip_prefix("rabbitmq_server-")).next_back();
        version.unwrap_or("unknown").to_owned()
    }

    /// The running node, unless another task holds it.
    pub fn try_running(&self) -> Option<MutexGuard<'_, Option<Running>>> {
        self.running.try_lock().ok()
    }

    pub async fn connect(&self) -> anyhow::Result<Connection> {
        let address = self.running.lock().await.as_ref().map(|running| running.address);
        connect(address.context("RabbitMQ does not run")?).await
    }

    /// Suspends it until it is needed again.
    pub async fn rest(&self) -> anyhow::Result<()> {
        self.running.lock().await.as_ref().map_or(Ok(()), |running| running.server.pause())
    }
}

/// A whole handshake is tried only once the port is open: that keeps the waiting cheap.
async fn is_ready(address: SocketAddr) -> bool {
    tokio::net::TcpStream::connect(address).await.is_ok() && connect(address).await.is_ok()
}

async fn connect(address: SocketAddr) -> anyhow::Result<Connection> {
    let uri = format!("amqp://guest:guest@{address}/%2f?heartbeat=0");
    Ok(Connection::connect(&uri, ConnectionProperties::default()).await?)
}
