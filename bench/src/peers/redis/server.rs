//! A `redis-server` on a free port, with the append-only file on and snapshots off.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use prom_types::Position;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, cmd};
use tokio::process::Command;

use super::client::{RedisConsumer, RedisPublisher, RedisTail};
use crate::load::contender::{About, Consumer, Contender, Publisher, Setting, Tail};
use crate::load::topics::{GROUP, Topics};
use crate::peers::version;

pub struct Redis {
    about: About,
    program: PathBuf,
    consumers: AtomicU32,
}

impl Redis {
    pub fn new(about: About, program: PathBuf) -> Self {
        Self { about, program, consumers: AtomicU32::new(0) }
    }
}

async fn connect(address: SocketAddr) -> anyhow::Result<MultiplexedConnection> {
    let config = AsyncConnectionConfig::new().set_response_timeout(None).set_connection_timeout(None);
    let client = Client::open(format!("redis://{address}"))?;
    Ok(client.get_multiplexed_async_connection_with_config(&config).await?)
}

#[async_trait]
impl Contender for Redis {
    fn about(&self) -> &About {
        &self.about
    }

    async fn version(&self) -> anyhow::Result<String> {
        version::of(&self.program).await
    }

    fn command(&self, dir: &Path, address: SocketAddr, setting: Setting) -> anyhow::Result<Command> {
        let fsync = match setting {
            Setting::Default => "everysec",
            Setting::Durable => "always",
        };
        let mut command = Command::new(&self.program);
        command
            .args(["--bind", "127.0.0.1", "--port", &address.port().to_string()])
            .args(["--appendonly", "yes", "--appendfsync", fsync, "--save", "", "--daemonize", "no"])
            .arg("--dir")
            .arg(dir);
        Ok(command)
    }

    /// While it loads its file it answers every command with an error.
    async fn is_ready(&self, address: SocketAddr) -> bool {
        match connect(address).await {
            Ok(mut connection) => cmd("PING").exec_async(&mut connection).await.is_ok(),
            Err(_) => false,
        }
    }

    async fn make(&self, address: SocketAddr, topics: &Topics) -> anyhow::Result<()> {
        // The group makes its stream; publishing to many makes them as it goes.
        let mut connection = connect(address).await?;
        let made =
            cmd("XGROUP").arg(&["CREATE", &topics.name(0), GROUP, "0", "MKSTREAM"]).exec_async(&mut connection).await;
        match made {
            Err(error) if error.code() == Some("BUSYGROUP") => Ok(()),
            other => Ok(other?),
        }
    }

    async fn publisher(&self, address: SocketAddr, topics: &Topics) -> anyhow::Result<Box<dyn Publisher>> {
        Ok(Box::new(RedisPublisher::new(connect(address).await?, topics)))
    }

    async fn consumer(&self, address: SocketAddr, topics: &Topics) -> anyhow::Result<Box<dyn Consumer>> {
        let number = self.consumers.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(RedisConsumer {
            connection: connect(address).await?,
            key: topics.name(0),
            name: format!("consumer{number}"),
        }))
    }

    async fn tail(&self, address: SocketAddr, topics: &Topics, from: Position) -> anyhow::Result<Box<dyn Tail>> {
        Ok(Box::new(RedisTail::begin(connect(address).await?, topics.name(0), from).await?))
    }
}
