//! A RabbitMQ node with its own directories, ports and name, and queues of one type.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use anyhow::ensure;
use async_trait::async_trait;
use lapin::options::{BasicQosOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Connection, ConnectionProperties};
use prom_types::Position;
use tokio::process::Command;
use tokio::sync::Mutex;

use super::client::{self, RabbitConsumer, RabbitPublisher};
use crate::load::contender::{About, Consumer, Contender, Publisher, Setting, Tail};
use crate::load::topics::Topics;

/// Messages sent to a consumer before it acks.
const PREFETCH: u16 = 4_000;
/// A connection of `lapin` has a thread of its own: readers share some.
const READERS_PER_CONNECTION: usize = 100;
/// How long queues may take to come back after a restart.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// With the port mapper that every Erlang node wants; in the foreground and ours, so that it ends with us.
const WITH_EPMD: &str = r#""$0" -port "$ERL_EPMD_PORT" -address 127.0.0.1 & exec "$1""#;

pub struct Rabbit {
    pub about: About,
    pub queue_type: &'static str,
    pub program: PathBuf,
    pub epmd: PathBuf,
    /// The connection that readers share at the moment.
    pub shared: Mutex<Weak<Connection>>,
}

impl Rabbit {
    async fn reader_connection(&self, address: SocketAddr) -> anyhow::Result<Arc<Connection>> {
        let mut shared = self.shared.lock().await;
        if let Some(connection) = shared.upgrade()
            && Arc::strong_count(&connection) <= READERS_PER_CONNECTION
        {
            return Ok(connection);
        }
        let connection = Arc::new(connect(address).await?);
        *shared = Arc::downgrade(&connection);
        Ok(connection)
    }
}

async fn connect(address: SocketAddr) -> anyhow::Result<Connection> {
    let uri = format!("amqp://guest:guest@{address}/%2f?heartbeat=0");
    Ok(Connection::connect(&uri, ConnectionProperties::default()).await?)
}

/// After a restart the node is there before its queues are.
async fn until_there(connection: &Connection, queue: &str) -> anyhow::Result<()> {
    let begun = Instant::now();
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::durable() };
    // A refusal closes the channel.
    while let Err(reason) =
        connection.create_channel().await?.queue_declare(queue.into(), passive, FieldTable::default()).await
    {
        ensure!(begun.elapsed() < PATIENCE, "the queue did not come back after a restart: {reason}");
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

#[async_trait]
impl Contender for Rabbit {
    fn about(&self) -> &About {
        &self.about
    }

    /// Starting it only to ask would take seconds; the folder it is installed in has it in its name.
    async fn version(&self) -> anyhow::Result<String> {
        let file = self.program.canonicalize().unwrap_or_default();
        let folders = file.iter().filter_map(|part| part.to_str());
        let version = folders.filter_map(|part| part.strip_prefix("rabbitmq_server-")).next_back();
        Ok(version.unwrap_or("unknown").to_owned())
    }

    fn command(&self, dir: &Path, address: SocketAddr, _setting: Setting) -> anyhow::Result<Command> {
        let free_port = || anyhow::Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string());
        std::fs::write(dir.join("rabbitmq.conf"), format!("listeners.tcp.1 = {address}\n"))?;
        std::fs::write(dir.join("enabled_plugins"), "[].\n")?;
        let mut command = Command::new("sh");
        command
            .args(["-c", WITH_EPMD])
            .args([&self.epmd, &self.program])
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
            .env("RABBITMQ_DIST_PORT", free_port()?)
            .env("ERL_EPMD_PORT", free_port()?)
            .env("ERL_EPMD_ADDRESS", "127.0.0.1");
        Ok(command)
    }

    /// A whole handshake is tried only once the port is open: that keeps the waiting cheap.
    async fn is_ready(&self, address: SocketAddr) -> bool {
        tokio::net::TcpStream::connect(address).await.is_ok() && connect(address).await.is_ok()
    }

    /// Its setting is the type of the queue, which stays.
    fn can_loosen(&self) -> bool {
        false
    }

    async fn make(&self, address: SocketAddr, topics: &Topics) -> anyhow::Result<()> {
        let connection = connect(address).await?;
        let channel = connection.create_channel().await?;
        for queue in topics.names() {
            let mut arguments = FieldTable::default();
            arguments.insert("x-queue-type".into(), AMQPValue::LongString(self.queue_type.into()));
            channel.queue_declare(queue.as_str().into(), QueueDeclareOptions::durable(), arguments).await?;
        }
        Ok(())
    }

    async fn publisher(&self, address: SocketAddr, topics: &Topics) -> anyhow::Result<Box<dyn Publisher>> {
        Ok(Box::new(RabbitPublisher::new(connect(address).await?, topics.names()).await?))
    }

    async fn consumer(&self, address: SocketAddr, topics: &Topics) -> anyhow::Result<Box<dyn Consumer>> {
        let connection = connect(address).await?;
        let channel = connection.create_channel().await?;
        channel.basic_qos(PREFETCH, BasicQosOptions::default()).await?;
        Ok(Box::new(RabbitConsumer { connection, channel, queue: topics.name(0) }))
    }

    async fn tail(&self, address: SocketAddr, topics: &Topics, from: Position) -> anyhow::Result<Box<dyn Tail>> {
        let (connection, queue) = (self.reader_connection(address).await?, topics.name(0));
        if from == Position::Earliest {
            until_there(&connection, &queue).await?;
        }
        client::tail(connection, &queue, from).await
    }
}
