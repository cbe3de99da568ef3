//! The real `prom serve` with one of two kinds of client.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use async_trait::async_trait;
use prom_client::{Client, ClientOptions};
use prom_types::Position;
use tokio::process::Command;

use super::{client, plain};
use crate::hub::process::HubProcess;
use crate::load::contender::{About, Consumer, Contender, Publisher, Server, ServerDirs, Setting, Tail};
use crate::load::topics::{GROUP, Topics};
use crate::page_cache;

/// What the load is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubClient {
    /// One event and one ack a frame, without any feature: the floor of the protocol.
    PlainFrames,
    /// `prom-client`, as an application has it.
    RustClient,
}

const PROMISE: &str = "synced before it is acknowledged";
const PLAIN: About = About {
    id: "prom-plain",
    server: "Promethean",
    name: "Promethean, plain frames",
    promise: PROMISE,
    setting: Setting::Default,
    consumes_per_second: 500_000.0,
    members: 1,
};
const CLIENT: About = About {
    id: "prom-client",
    server: "Promethean",
    name: "Promethean, Rust client",
    promise: PROMISE,
    setting: Setting::Default,
    consumes_per_second: 900_000.0,
    members: 1,
};

pub struct HubContender {
    pub prom: PathBuf,
    pub client: HubClient,
}

#[async_trait]
impl Contender for HubContender {
    fn about(&self) -> &About {
        match self.client {
            HubClient::PlainFrames => &PLAIN,
            HubClient::RustClient => &CLIENT,
        }
    }

    async fn version(&self) -> anyhow::Result<String> {
        let said = Command::new(&self.prom).arg("--version").output().await;
        let said = said.with_context(|| format!("{}: build it, or name one with --prom", self.prom.display()))?;
        ensure!(said.status.success(), "{} --version failed", self.prom.display());
        let said = String::from_utf8_lossy(&said.stdout);
        Ok(said.split_whitespace().last().unwrap_or_default().to_owned())
    }

    async fn start(&self, dirs: &ServerDirs) -> anyhow::Result<Box<dyn Server>> {
        Ok(Box::new(HubServer::start(self.prom.clone(), self.client, dirs.fresh(self.about().id)?).await?))
    }
}

pub struct HubServer {
    prom: PathBuf,
    /// What connections from now on are made with.
    pub client: HubClient,
    dir: PathBuf,
    hub: Option<HubProcess>,
    membership: Membership,
}

/// The group that consumers join, and where it begins if they make it.
#[derive(Debug, Clone)]
pub struct Membership {
    pub group: String,
    pub from: Position,
}

impl HubServer {
    /// In a directory of its own, which is removed when it is stopped.
    pub async fn start(prom: PathBuf, client: HubClient, dir: PathBuf) -> anyhow::Result<Self> {
        std::fs::create_dir_all(&dir)?;
        let hub = HubProcess::start(&prom, &dir.join("data")).await?;
        let membership = Membership { group: GROUP.to_owned(), from: Position::Earliest };
        Ok(Self { prom, client, dir, hub: Some(hub), membership })
    }

    pub fn hub(&self) -> anyhow::Result<&HubProcess> {
        self.hub.as_ref().context("the hub has been stopped")
    }

    pub async fn connect(&self) -> anyhow::Result<Client> {
        let url = format!("http://{}", self.hub()?.address);
        Ok(Client::connect(&url, ClientOptions::default()).await?)
    }

    /// From now on consumers join another group.
    pub fn join(&mut self, group: &str, from: Position) {
        self.membership = Membership { group: group.to_owned(), from };
    }

    /// Ends it as a service manager would, and leaves its files.
    pub async fn stop_in_order(mut self) -> anyhow::Result<()> {
        self.hub.take().context("the hub has been stopped")?.stop().await
    }

    /// Bytes of its files.
    pub fn bytes_on_disk(&self) -> anyhow::Result<u64> {
        Ok(page_cache::bytes_below(&self.dir)?)
    }
}

#[async_trait]
impl Server for HubServer {
    async fn make(&self, _topics: &Topics) -> anyhow::Result<()> {
        // A topic's first event makes it.
        Ok(())
    }

    async fn publisher(&self, topics: &Topics) -> anyhow::Result<Box<dyn Publisher>> {
        Ok(match self.client {
            HubClient::PlainFrames => Box::new(plain::PlainPublisher::connect(self.hub()?.address, topics).await?),
            HubClient::RustClient => Box::new(client::ClientPublisher::new(self.connect().await?, topics)?),
        })
    }

    async fn consumer(&self, topics: &Topics) -> anyhow::Result<Box<dyn Consumer>> {
        Ok(match self.client {
            HubClient::PlainFrames => {
                Box::new(plain::PlainConsumer::connect(self.hub()?.address, topics, &self.membership).await?)
            }
            HubClient::RustClient => {
                Box::new(client::ClientConsumer::start(self.connect().await?, topics, &self.membership).await?)
            }
        })
    }

    async fn tail(&self, topics: &Topics, from: Position) -> anyhow::Result<Box<dyn Tail>> {
        Ok(match self.client {
            HubClient::PlainFrames => Box::new(plain::PlainTail::connect(self.hub()?.address, topics, from).await?),
            HubClient::RustClient => Box::new(client::ClientTail::start(self.connect().await?, topics, from).await?),
        })
    }

    async fn restart(&mut self) -> anyhow::Result<()> {
        if let Some(hub) = self.hub.take() {
            hub.stop().await?;
        }
        page_cache::forget(&self.dir)?;
        self.hub = Some(HubProcess::start(&self.prom, &self.dir.join("data")).await?);
        Ok(())
    }

    fn check(&mut self) -> anyhow::Result<()> {
        self.hub.as_mut().map_or(Ok(()), HubProcess::check)
    }

    #[cfg(feature = "peers")]
    fn process(&self) -> i32 {
        self.hub.as_ref().map_or(0, HubProcess::id)
    }

    async fn stop(mut self: Box<Self>) -> anyhow::Result<()> {
        // Killed, not asked: it would put in order what is about to be removed.
        drop(self.hub.take());
        Ok(std::fs::remove_dir_all(&self.dir)?)
    }
}
