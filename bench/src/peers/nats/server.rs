//! A `nats-server` on a free port, with one stream.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::{self, stream};
use async_trait::async_trait;
use futures::StreamExt;
use prom_types::Position;
use tokio::process::Command;

use super::client::{NatsConsumer, NatsPublisher};
use crate::load::contender::{About, Consumer, Contender, Publisher, Setting, Tail};
use crate::load::topics::{GROUP, Topics};
use crate::peers::streams::StreamTail;
use crate::peers::version;

const STREAM: &str = "BENCH";
/// Subjects that the stream takes.
const SUBJECTS: &str = "bench.events.>";
/// Above the default of 1000, which would be the limit on this machine.
const ACKS_PENDING: i64 = 20_000;

pub struct Nats {
    pub about: About,
    pub program: PathBuf,
}

async fn connect(address: SocketAddr) -> anyhow::Result<async_nats::Client> {
    Ok(async_nats::connect(address.to_string()).await?)
}

#[async_trait]
impl Contender for Nats {
    fn about(&self) -> &About {
        &self.about
    }

    async fn version(&self) -> anyhow::Result<String> {
        version::of(&self.program).await
    }

    fn command(&self, dir: &Path, address: SocketAddr, setting: Setting) -> anyhow::Result<Command> {
        let interval = match setting {
            Setting::Default => "",
            Setting::Durable => ", sync_interval: always",
        };
        let store = dir.join("data");
        let config = format!("listen: \"{address}\"\njetstream: {{ store_dir: \"{}\"{interval} }}\n", store.display());
        let file = dir.join("nats.conf");
        std::fs::write(&file, config)?;
        let mut command = Command::new(&self.program);
        command.arg("--config").arg(&file);
        Ok(command)
    }

    async fn is_ready(&self, address: SocketAddr) -> bool {
        // A refused connection costs nothing; the client itself would wait before it tries again.
        if tokio::net::TcpStream::connect(address).await.is_err() {
            return false;
        }
        match connect(address).await {
            Ok(client) => jetstream::new(client).query_account().await.is_ok(),
            Err(_) => false,
        }
    }

    async fn make(&self, address: SocketAddr, _topics: &Topics) -> anyhow::Result<()> {
        let config =
            stream::Config { name: STREAM.to_owned(), subjects: vec![SUBJECTS.to_owned()], ..Default::default() };
        jetstream::new(connect(address).await?).get_or_create_stream(config).await?;
        Ok(())
    }

    async fn publisher(&self, address: SocketAddr, topics: &Topics) -> anyhow::Result<Box<dyn Publisher>> {
        Ok(Box::new(NatsPublisher::new(connect(address).await?, topics)))
    }

    async fn consumer(&self, address: SocketAddr, _topics: &Topics) -> anyhow::Result<Box<dyn Consumer>> {
        let client = connect(address).await?;
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

    /// Live fan-out is what core NATS is best at: the stream stores, plain subscriptions deliver.
    async fn tail(&self, address: SocketAddr, topics: &Topics, from: Position) -> anyhow::Result<Box<dyn Tail>> {
        let client = connect(address).await?;
        Ok(match from {
            Position::Latest => {
                let subscriber = client.subscribe(topics.pattern()).await?;
                client.flush().await?;
                let payloads = subscriber.map(|message| Ok(message.payload));
                Box::new(StreamTail { payloads, _connection: client })
            }
            _ => {
                let config = pull::OrderedConfig { deliver_policy: DeliverPolicy::All, ..Default::default() };
                let stream = jetstream::new(client.clone()).get_stream(STREAM).await?;
                let messages = stream.create_consumer(config).await?.messages().await?;
                let payloads = messages.map(|message| Ok(message?.message.payload));
                Box::new(StreamTail { payloads, _connection: client })
            }
        })
    }
}
