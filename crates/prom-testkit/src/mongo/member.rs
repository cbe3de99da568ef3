//! One server process: started on a free port, signalled by its id, ended when dropped.
//!
//! A small shell runs between: it ends the server when its own input closes, which happens however the test ends.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::program::mongod;
use crate::tools::{ToolError, free_port};

/// Prints the server's process id, waits for the end of its input, ends the server and waits until it is gone.
const KEEPER: &str = r#"log=$1; shift
"$@" </dev/null >>"$log" 2>&1 &
server=$!
echo $server
cat >/dev/null
kill -KILL $server 2>/dev/null
wait $server 2>/dev/null"#;

/// A server of a set, or a standalone one.
pub struct SetMember {
    port: u16,
    folder: PathBuf,
    arguments: Vec<String>,
    running: Option<Running>,
}

struct Running {
    keeper: Child,
    server: Pid,
}

impl SetMember {
    /// Starts a server with its files in `folder`, which must exist.
    pub(super) fn start(folder: &Path, arguments: &[String]) -> Result<Self, ToolError> {
        let port = free_port()?;
        let mut member = Self { port, folder: folder.to_owned(), arguments: arguments.to_vec(), running: None };
        member.run()?;
        Ok(member)
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Looks like a power loss to the others: no goodbye.
    pub fn kill(&mut self) {
        // Closing its input tells the keeper.
        if let Some(mut running) = self.running.take() {
            drop(running.keeper.stdin.take());
            drop(running.keeper.wait());
        }
    }

    /// Stops the process until [`SetMember::resume`].
    pub fn pause(&self) -> Result<(), ToolError> {
        self.signal(Signal::STOP)
    }

    pub fn resume(&self) -> Result<(), ToolError> {
        self.signal(Signal::CONT)
    }

    /// Starts it again on the same port with the same files.
    pub fn restart(&mut self) -> Result<(), ToolError> {
        self.kill();
        self.run()
    }

    /// Its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("mongod.log")).unwrap_or_default()
    }

    fn run(&mut self) -> Result<(), ToolError> {
        let data = self.folder.join("data");
        std::fs::create_dir_all(&data)?;
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(self.folder.join("mongod.log"))
            .arg(mongod()?)
            .args(server_arguments(self.port, &data))
            .args(&self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut said = String::new();
        if let Some(output) = keeper.stdout.take() {
            BufReader::new(output).read_line(&mut said)?;
        }
        let server = said.trim().parse().ok().and_then(Pid::from_raw);
        let server = server.ok_or_else(|| ToolError::Failed(format!("no server was started: {said}")))?;
        self.running = Some(Running { keeper, server });
        Ok(())
    }

    fn signal(&self, signal: Signal) -> Result<(), ToolError> {
        match &self.running {
            Some(running) => Ok(kill_process(running.server, signal).map_err(std::io::Error::from)?),
            None => Err(ToolError::Failed(format!("the server at {} does not run", self.address()))),
        }
    }
}

impl Drop for SetMember {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Small in memory, quick to start, on this machine only.
pub(super) fn server_arguments(port: u16, data: &Path) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--bind_ip",
        "127.0.0.1",
        "--wiredTigerCacheSizeGB",
        "0.25",
        "--oplogSize",
        "512",
        "--setParameter",
        "diagnosticDataCollectionEnabled=false",
        "--quiet",
    ]
    .map(str::to_owned)
    .into();
    arguments.extend(["--port".to_owned(), port.to_string(), "--dbpath".to_owned(), data.display().to_string()]);
    arguments
}
