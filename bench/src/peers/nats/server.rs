//! A `nats-server` on a free port.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::{self, stream};
use async_trait::async_trait;
use prom_types::Position;
use tokio::process::Command;

use super::client::{NatsConsumer, NatsOrdered, NatsPublisher, NatsSubscriber};
use crate::hub::process::free_address;
use crate::load::contender::{About, Consumer, Contender, Publisher, Server, ServerDirs, Tail};
use crate::load::topics::{GROUP, Topics};
use crate::page_cache;
use crate::peers::tools;
use crate::server_process::ServerProcess;

const PATIENCE: Duration = Duration::from_secs(30);
const STREAM: &str = "BENCH";
/// Subjects that the stream takes.
const SUBJECTS: &str = "bench.events.>";
/// Above the default of 1000, which would be the limit on this machine.
const ACKS_PENDING: i64 = 20_000;

/// When JetStream syncs its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    TwoMinutes,
    Always,
}

pub struct Nats {
    pub about: About,
    pub program: PathBuf,
    pub sync: Sync,
}

#[async_trait]
impl Contender for Nats {
    fn about(&self) -> &About {
        &self.about
    }

    async fn version(&self) -> anyhow::Result<String> {
        tools::version(&self.program, "--version").await
    }

    async fn start(&self, dirs: &ServerDirs) -> anyhow::Result<Box<dyn Server>> {
        let dir = dirs.fresh(self.about.id)?;
        let running = Running::start(self.program.clone(), dir.clone(), self.sync).await?;
        Ok(Box::new(NatsServer { program: self.program.clone(), sync: self.sync, dir, running: Some(running) }))
    }
}

struct Running {
    process: ServerProcess,
    address: SocketAddr,
}

impl Running {
    async fn start(program: PathBuf, dir: PathBuf, sync: Sync) -> anyhow::Result<Self> {
        let address = free_address()?;
        let interval = match sync {
            Sync::TwoMinutes => "",
            Sync::Always => ", sync_interval: always",
        };
        let store = dir.join("data");
        let config = format!("listen: \"{address}\"\njetstream: {{ store_dir: \"{}\"{interval} }}\n", store.display());
        let file = dir.join("nats.conf");
        std::fs::write(&file, config)?;
        let mut command = Command::new(program);
        command.arg("--config").arg(&file);
        let mut process = ServerProcess::spawn("nats-server", command, &dir.join("log"))?;
        process.ready(PATIENCE, || is_ready(address)).await?;
        Ok(Self { process, address })
    }
}

async fn is_ready(address: SocketAddr) -> bool {
    // A refused connection costs nothing; the client itself would wait before it tries again.
    if tokio::net::TcpStream::connect(address).await.is_err() {
        return false;
    }
    match async_nats::connect(address.to_string()).await {
        Ok(client) => jetstream::new(client).query_account().await.is_ok(),
        Err(_) => false,
    }
}

struct NatsServer {
    program: PathBuf,
    sync: Sync,
    dir: PathBuf,
    running: Option<Running>,
}

impl NatsServer {
    async fn client(&self) -> anyhow::Result<async_nats::Client> {
        let running = self.running.as_ref().context("nats-server has been stopped")?;
        Ok(async_nats::connect(running.address.to_string()).await?)
    }

    async fn start_again(&mut self, sync: Sync) -> anyhow::Result<()> {
        if let Some(running) = self.running.take() {
            running.process.terminate(PATIENCE).await?;
        }
        page_cache::forget(&self.dir)?;
        self.running = Some(Running::start(self.program.clone(), self.dir.clone(), sync).await?);
        Ok(())
    }
}

#[async_trait]
impl Server for NatsServer {
    async fn make(&self, _topics: &Topics) -> anyhow::Result<()> {
        let config =
            stream::Config { name: STREAM.to_owned(), subjects: vec![SUBJECTS.to_owned()], ..Default::default() };
        jetstream::new(self.client().await?).get_or_create_stream(config).await?;
        Ok(())
    }

    async fn publisher(&self, topics: &Topics) -> anyhow::Result<Box<dyn Publisher>> {
        Ok(Box::new(NatsPublisher::new(self.client().await?, topics)))
    }

    async fn consumer(&self, _topics: &Topics) -> anyhow::Result<Box<dyn Consumer>> {
        let client = self.client().await?;
        let config = pull::Config {
            durable_name: Some(GROUP.to_owned()),
            deliver_policy: DeliverPolicy::All,
            ack_policy: AckPolicy::Explicit,
            max_ack_pending: ACKS_PENDING,
            ..Default::default()
        };
        let stream = jetstream::new(client.clone()).get_stream(STREAM).await?;
        let consumer: PullConsumer = stream.get_or_create_consumer(GROUP, config).await?;
        Ok(Box::new(NatsConsumer { client, consumer }))
    }

    async fn tail(&self, topics: &Topics, from: Position) -> anyhow::Result<Box<dyn Tail>> {
        let client = self.client().await?;
        Ok(match from {
            Position::Latest => {
                let subscriber = client.subscribe(topics.pattern()).await?;
                client.flush().await?;
                Box::new(NatsSubscriber { _client: client, subscriber })
            }
            _ => {
                let config = pull::OrderedConfig { deliver_policy: DeliverPolicy::All, ..Default::default() };
                let stream = jetstream::new(client).get_stream(STREAM).await?;
                let consumer = stream.create_consumer(config).await?;
                Box::new(NatsOrdered { messages: consumer.messages().await? })
            }
        })
    }

    async fn loosen(&mut self) -> anyhow::Result<()> {
        match self.sync {
            Sync::TwoMinutes => Ok(()),
            Sync::Always => self.start_again(Sync::TwoMinutes).await,
        }
    }

    async fn tighten(&mut self) -> anyhow::Result<()> {
        match self.sync {
            Sync::TwoMinutes => Ok(()),
            Sync::Always => self.start_again(Sync::Always).await,
        }
    }

    async fn restart(&mut self) -> anyhow::Result<()> {
        self.start_again(self.sync).await
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
