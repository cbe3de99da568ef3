//! A contender's server that runs, in a directory of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use prom_types::Position;

use super::contender::{Consumer, Contender, Publisher, Setting, Tail};
use super::topics::Topics;
use crate::page_cache;
use crate::server_process::ServerProcess;

/// Redis reads its whole file before it answers; a hub with ten thousand topics on a busy disk takes its time to end.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Server {
    /// What connections from now on are made with.
    pub contender: Arc<dyn Contender>,
    dir: PathBuf,
    process: Option<ServerProcess>,
}

impl Server {
    /// On the files in `dir`, if there are any.
    pub async fn start(contender: Arc<dyn Contender>, dir: PathBuf) -> anyhow::Result<Self> {
        std::fs::create_dir_all(&dir)?;
        let mut server = Self { contender, dir, process: None };
        server.boot(server.contender.about().setting).await?;
        Ok(server)
    }

    async fn boot(&mut self, setting: Setting) -> anyhow::Result<()> {
        let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let command = self.contender.command(&self.dir, address, setting)?;
        let name = self.contender.about().server;
        let mut process = ServerProcess::spawn(name, command, &self.dir.join("log"), address)?;
        process.until_ready(PATIENCE, || self.contender.is_ready(address)).await?;
        self.process = Some(process);
        Ok(())
    }

    pub fn process(&self) -> anyhow::Result<&ServerProcess> {
        self.process.as_ref().with_context(|| format!("{} has been stopped", self.contender.about().server))
    }

    fn address(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.process()?.address)
    }

    pub async fn make(&self, topics: &Topics) -> anyhow::Result<()> {
        self.contender.make(self.address()?, topics).await
    }

    pub async fn publisher(&self, topics: &Topics) -> anyhow::Result<Box<dyn Publisher>> {
        self.contender.publisher(self.address()?, topics).await
    }

    pub async fn consumer(&self, topics: &Topics) -> anyhow::Result<Box<dyn Consumer>> {
        self.contender.consumer(self.address()?, topics).await
    }

    pub async fn tail(&self, topics: &Topics, from: Position) -> anyhow::Result<Box<dyn Tail>> {
        self.contender.tail(self.address()?, topics, from).await
    }

    /// While a backlog is filled that is not itself measured, durability may rest…
    pub async fn loosen(&mut self) -> anyhow::Result<()> {
        if self.contender.can_loosen() { self.restart_with(Setting::Default).await } else { Ok(()) }
    }

    /// …and has to be back before anything is measured.
    pub async fn tighten(&mut self) -> anyhow::Result<()> {
        if self.contender.can_loosen() { self.restart().await } else { Ok(()) }
    }

    /// Ends it and starts it on the same data, which is no longer in the page cache.
    pub async fn restart(&mut self) -> anyhow::Result<()> {
        self.restart_with(self.contender.about().setting).await
    }

    async fn restart_with(&mut self, setting: Setting) -> anyhow::Result<()> {
        self.end().await?;
        page_cache::forget(&self.dir)?;
        self.boot(setting).await
    }

    /// Ends it as a service manager would, and leaves its files.
    pub async fn end(&mut self) -> anyhow::Result<()> {
        match self.process.take() {
            Some(process) => process.terminate(PATIENCE).await,
            None => Ok(()),
        }
    }

    /// An error, with what it said last, if it has ended.
    pub fn check(&mut self) -> anyhow::Result<()> {
        self.process.as_mut().map_or(Ok(()), ServerProcess::check)
    }

    /// Bytes of its files.
    pub fn bytes_on_disk(&self) -> anyhow::Result<u64> {
        Ok(page_cache::bytes_below(&self.dir)?)
    }

    /// Ends it and removes its data. Killed, not asked: it would put in order what is about to be removed.
    pub fn remove(self) -> anyhow::Result<()> {
        drop(self.process);
        Ok(std::fs::remove_dir_all(&self.dir)?)
    }
}
