//! A server as a process of its own, with the processes it starts itself.
//!
//! It has its own process group, so that a Ctrl-C in the terminal reaches only us, and it is killed with its group
//! when this handle is dropped: nothing is left running, however the measurement ends. What it says goes into a file;
//! when it ends unasked, the last of it is in the error.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, Command};

use crate::proc::{self, Resident};

/// How often a starting server is asked whether it is ready.
const PROBE_EVERY: Duration = Duration::from_millis(1);
const LOG_LINES: usize = 12;

pub struct ServerProcess {
    name: &'static str,
    child: Child,
    leader: Pid,
    log: PathBuf,
    started: Instant,
    /// Where it listens.
    pub address: SocketAddr,
    /// How many milliseconds after its start it was ready.
    pub ready_ms: f64,
}

impl ServerProcess {
    pub fn spawn(name: &'static str, mut command: Command, log: &Path, address: SocketAddr) -> anyhow::Result<Self> {
        let out = File::create(log).with_context(|| format!("writing {}", log.display()))?;
        let started = Instant::now();
        let child = command
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("starting {name} ({})", command.as_std().get_program().display()))?;
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let leader = leader.with_context(|| format!("{name} ended at once"))?;
        Ok(Self { name, child, leader, log: log.to_owned(), started, address, ready_ms: 0.0 })
    }

    /// Waits until `is_ready` says so.
    pub async fn until_ready<F: Future<Output = bool>>(
        &mut self,
        patience: Duration,
        is_ready: impl Fn() -> F,
    ) -> anyhow::Result<()> {
        while !is_ready().await {
            self.check()?;
            ensure!(self.started.elapsed() < patience, "{} is not ready after {patience:?}{}", self.name, self.said());
            tokio::time::sleep(PROBE_EVERY).await;
        }
        self.ready_ms = self.started.elapsed().as_secs_f64() * 1e3;
        Ok(())
    }

    /// An error, with the last it said, if it has ended.
    pub fn check(&mut self) -> anyhow::Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => bail!("{} has ended unasked ({status}){}", self.name, self.said()),
        }
    }

    pub fn id(&self) -> i32 {
        self.leader.as_raw_nonzero().get()
    }

    /// Asks it to end, and waits until it has.
    pub async fn terminate(mut self, patience: Duration) -> anyhow::Result<()> {
        self.check()?;
        kill_process(self.leader, Signal::TERM).with_context(|| format!("asking {} to end", self.name))?;
        let ended = tokio::time::timeout(patience, self.child.wait()).await;
        let status =
            ended.with_context(|| format!("{} did not end within {patience:?}{}", self.name, self.said()))??;
        // Some servers end by the signal itself once they have tidied up.
        ensure!(status.success() || status.code().is_none(), "{} ended with {status}{}", self.name, self.said());
        Ok(())
    }

    pub fn resident(&self) -> anyhow::Result<Resident> {
        proc::resident(self.id())
    }

    pub fn resident_mb(&self) -> anyhow::Result<f64> {
        Ok(self.resident()?.total_mb)
    }

    fn said(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        match lines.len() {
            0 => String::new(),
            many => format!("; the last it said:\n{}", lines[many.saturating_sub(LOG_LINES)..].join("\n")),
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _all_of_it_has_ended = kill_process_group(self.leader, Signal::KILL);
    }
}
