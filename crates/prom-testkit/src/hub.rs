//! The real hub in a test: the `prom` binary on a free port, ended with the test.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything that works takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Settings that the developer has for another hub, which do not apply here.
const FOREIGN_SETTINGS: [&str; 7] =
    ["MONGO_URL", "WS_PORT", "OPS_PORT", "JWT_SECRET", "JWT_JWKS_URL", "JWT_AUD", "JWT_ISS"];

/// A running `prom serve`. Dropping it kills it.
pub struct HubProcess {
    /// Starts it, also again.
    command: Command,
    address: SocketAddr,
    child: Child,
}

impl HubProcess {
    /// On a free port, in memory.
    pub fn in_memory() -> io::Result<Self> {
        Self::start(&["--store", "memory"], &[])
    }

    /// On a free port, with its data in a directory.
    pub fn on(data: &Path) -> io::Result<Self> {
        Self::start(&["--data", &data.to_string_lossy()], &[])
    }

    /// With more arguments and environment; the address is chosen here.
    pub fn start(arguments: &[&str], environment: &[(&str, &str)]) -> io::Result<Self> {
        Self::start_with(Stdio::inherit(), arguments, environment)
    }

    /// As [`HubProcess::start`]; the hub's output is appended to a file.
    pub fn start_logging_to(log: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> io::Result<Self> {
        let log = File::options().create(true).append(true).open(log)?;
        Self::start_with(log.into(), arguments, environment)
    }

    fn start_with(output: Stdio, arguments: &[&str], environment: &[(&str, &str)]) -> io::Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = Command::new(prom_binary()?);
        for variable in FOREIGN_SETTINGS {
            command.env_remove(variable);
        }
        command.args(["serve", "--listen", &address.to_string()]).args(arguments).envs(environment.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output);
        let child = command.spawn()?;
        let mut hub = Self { command, address, child };
        hub.wait_until_ready()?;
        Ok(hub)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:…`
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Kills it as a crash would: no handler runs.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Stops the process until [`HubProcess::resume`]: it does not answer, and does not notice the time passing.
    pub fn pause(&self) -> io::Result<()> {
        self.signal("-STOP")
    }

    pub fn resume(&self) -> io::Result<()> {
        self.signal("-CONT")
    }

    /// Starts it again at the same address, after a kill or a stop.
    pub fn restart(&mut self) -> io::Result<()> {
        self.child = self.command.spawn()?;
        self.wait_until_ready()
    }

    /// Asks it to end and waits until it has.
    pub fn stop(&mut self) -> io::Result<ExitStatus> {
        self.signal("-TERM")?;
        self.wait("did not end", |hub| hub.child.try_wait())
    }

    fn signal(&self, signal: &str) -> io::Result<()> {
        let told = Command::new("kill").args([signal, &self.child.id().to_string()]).status()?;
        if told.success() { Ok(()) } else { Err(io::Error::other(format!("the hub could not be sent {signal}"))) }
    }

    fn wait_until_ready(&mut self) -> io::Result<()> {
        self.wait("is not ready", |hub| match hub.child.try_wait()? {
            Some(status) => Err(io::Error::other(format!("the hub ended with {status} before it was ready"))),
            None => Ok(is_ready(hub.address).then_some(())),
        })
    }

    fn wait<T>(&mut self, problem: &str, look: impl Fn(&mut Self) -> io::Result<Option<T>>) -> io::Result<T> {
        let begin = Instant::now();
        loop {
            if let Some(seen) = look(self)? {
                return Ok(seen);
            }
            if begin.elapsed() > PATIENCE {
                return Err(io::Error::new(io::ErrorKind::TimedOut, format!("the hub {problem}")));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for HubProcess {
    fn drop(&mut self) {
        // It may have ended already, and `drop` cannot report errors.
        let _ended = self.kill();
    }
}

/// Asked over HTTP, as a load balancer would.
fn is_ready(address: SocketAddr) -> bool {
    let ask = || -> io::Result<bool> {
        let mut socket = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
        socket.set_read_timeout(Some(Duration::from_secs(5)))?;
        socket.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        let mut answer = [0; 12];
        socket.read_exact(&mut answer)?;
        Ok(&answer == b"HTTP/1.1 200")
    };
    ask().unwrap_or(false)
}

/// The `prom` binary that was built with the test: it is in the folder above that of the test's binary. `PROM_BINARY`
/// names another one.
pub fn prom_binary() -> io::Result<PathBuf> {
    if let Some(named) = std::env::var_os("PROM_BINARY") {
        return Ok(named.into());
    }
    let test = std::env::current_exe()?;
    let built = test.ancestors().skip(1).map(|folder| folder.join("prom")).find(|candidate| candidate.is_file());
    built.ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, "no prom binary next to the test; run `cargo build -p prom-cli` first")
    })
}
