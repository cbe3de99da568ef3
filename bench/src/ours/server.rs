//! The real `prom serve` with one of two kinds of client.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use async_trait::async_trait;
use prom_client::{Client, ClientOptions};
use prom_types::Position;
use tokio::process::Command;

use super::client::{ClientConsumer, ClientPublisher, ClientTail};
use super::http;
use super::plain::{PlainConsumer, PlainPublisher, PlainTail};
use crate::load::contender::{About, Consumer, Contender, Publisher, Setting, Tail};
use crate::load::server::Server;
use crate::load::topics::{GROUP, Topics};

/// What the load is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubClient {
    /// One event and one ack a frame, without any feature: the floor of the protocol.
    PlainFrames,
    /// `prom-client`, as an application has it.
    RustClient,
}

const CLIENT: About = About {
    id: "prom-client",
    server: "Promethean",
    name: "Promethean, Rust client",
    promise: "synced before it is acknowledged",
    setting: Setting::Default,
    consumes_per_second: 900_000.0,
    members: 1,
};
const PLAIN: About =
    About { id: "prom-plain", name: "Promethean, plain frames", consumes_per_second: 500_000.0, ..CLIENT };

#[derive(Debug, Clone)]
pub struct HubContender {
    pub prom: PathBuf,
    pub client: HubClient,
    /// The group that consumers join, and where it begins if they make it.
    pub group: String,
    pub from: Position,
}

impl HubContender {
    pub fn new(prom: PathBuf, client: HubClient) -> Self {
        Self { prom, client, group: GROUP.to_owned(), from: Position::Earliest }
    }

    /// In this directory.
    pub async fn start(&self, dir: PathBuf) -> anyhow::Result<Server> {
        Server::start(Arc::new(self.clone()), dir).await
    }
}

pub async fn connect(address: SocketAddr) -> anyhow::Result<Client> {
    Ok(Client::connect(&format!("http://{address}"), ClientOptions::default()).await?)
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

    fn command(&self, dir: &Path, address: SocketAddr, _setting: Setting) -> anyhow::Result<Command> {
        let is_there = self.prom.is_file();
        ensure!(is_there, "{}: build it with `cargo build --release`, or name one with --prom", self.prom.display());
        let mut command = Command::new(&self.prom);
        command.args(["serve", "--listen", &address.to_string(), "--data"]).arg(dir.join("data"));
        Ok(command)
    }

    async fn is_ready(&self, address: SocketAddr) -> bool {
        http::get(address, "/readyz").await.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
    }

    async fn publisher(&self, address: SocketAddr, topics: &Topics) -> anyhow::Result<Box<dyn Publisher>> {
        Ok(match self.client {
            HubClient::PlainFrames => Box::new(PlainPublisher::connect(address, topics).await?),
            HubClient::RustClient => Box::new(ClientPublisher::new(connect(address).await?, topics)?),
        })
    }

    async fn consumer(&self, address: SocketAddr, topics: &Topics) -> anyhow::Result<Box<dyn Consumer>> {
        Ok(match self.client {
            HubClient::PlainFrames => Box::new(PlainConsumer::connect(address, topics, self).await?),
            HubClient::RustClient => Box::new(ClientConsumer::start(connect(address).await?, topics, self).await?),
        })
    }

    async fn tail(&self, address: SocketAddr, topics: &Topics, from: Position) -> anyhow::Result<Box<dyn Tail>> {
        Ok(match self.client {
            HubClient::PlainFrames => Box::new(PlainTail::connect(address, topics, from).await?),
            HubClient::RustClient => Box::new(ClientTail::start(connect(address).await?, topics, from).await?),
        })
    }
}
