//! PostgreSQL for tests: a private cluster on a free port of this machine, with its files in a temporary folder.
//!
//! The server is on the path, or where Debian's package puts it. It refuses to run as root; then it runs as the user that the
//! package makes. It ends with the test, even if the test is killed.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::tools::{ToolError, find, free_port};

/// Where Debian puts versions.
const DEBIAN: &str = "/usr/lib/postgresql";
/// Made by Debian's package.
const PACKAGE_USER: &str = "postgres";
const READY_DEADLINE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Prints the server's process id, waits for the end of its input, ends the server and waits until it is gone.
const KEEPER: &str = r#"log=$1; shift
"$@" </dev/null >>"$log" 2>&1 &
server=$!
echo $server
cat >/dev/null
kill -QUIT $server 2>/dev/null
wait $server 2>/dev/null"#;

/// A running cluster. Dropping it ends it.
pub struct Postgres {
    port: u16,
    keeper: Child,
    folder: TempDir,
}

/// A user of this machine.
#[derive(Debug, Clone, Copy)]
struct Account {
    user: u32,
    group: u32,
}

impl Postgres {
    /// A cluster with these settings (`name=value`) besides those that make it quick to start.
    pub fn start(settings: &[&str]) -> Result<Self, ToolError> {
        let folder = TempDir::new()?;
        let account = account(folder.path())?;
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
        let data = folder.path().join("data");
        std::fs::create_dir(&data)?;
        if let Some(Account { user, group }) = account {
            chown(&data, Some(user), Some(group))?;
        }
        let mut initdb = Command::new(program("initdb")?);
        initdb.args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C", "-D"]);
        let made = as_user(&mut initdb, account).arg(&data).current_dir(&data).output()?;
        if !made.status.success() {
            return Err(ToolError::Failed(format!("initdb: {}", String::from_utf8_lossy(&made.stderr))));
        }
        let port = free_port()?;
        let keeper = run(&data, port, account, settings)?;
        let cluster = Self { port, keeper, folder };
        cluster.wait_until_ready()?;
        Ok(cluster)
    }

    /// The address of its only database.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Its log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("data/server.log")).unwrap_or_default()
    }

    /// It says so in its log; before that it accepts connections and refuses them.
    fn wait_until_ready(&self) -> Result<(), ToolError> {
        let begin = Instant::now();
        loop {
            let is_open = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok();
            if is_open && self.log().contains("ready to accept connections") {
                return Ok(());
            }
            if begin.elapsed() > READY_DEADLINE {
                return Err(ToolError::Failed(format!("PostgreSQL is not ready; it says:\n{}", self.log())));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Closing its input tells the keeper.
        drop(self.keeper.stdin.take());
        drop(self.keeper.wait());
    }
}

fn run(data: &Path, port: u16, account: Option<Account>, settings: &[&str]) -> Result<Child, ToolError> {
    let mut keeper = Command::new("sh");
    keeper.args(["-c", KEEPER, "keeper"]).arg(data.join("server.log")).arg(program("postgres")?).arg("-D").arg(data);
    let port = port.to_string();
    keeper.args(["-h", "127.0.0.1", "-p", &port, "-c", "unix_socket_directories=", "-c", "max_connections=60"]);
    for setting in settings {
        keeper.args(["-c", setting]);
    }
    keeper.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).current_dir(data);
    let mut keeper = as_user(&mut keeper, account).spawn()?;
    let mut said = String::new();
    if let Some(output) = keeper.stdout.take() {
        BufReader::new(output).read_line(&mut said)?;
    }
    match said.trim().parse::<u32>() {
        Ok(_) => Ok(keeper),
        Err(_) => Err(ToolError::Failed(format!("no PostgreSQL was started: {said}"))),
    }
}

fn as_user(command: &mut Command, account: Option<Account>) -> &mut Command {
    match account {
        Some(Account { user, group }) => command.uid(user).gid(group),
        None => command,
    }
}

/// Whom to run as; `None`: as the test does.
fn account(own: &Path) -> Result<Option<Account>, ToolError> {
    if std::fs::metadata(own)?.uid() != 0 {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd")?;
    let entry = users.lines().find(|line| line.split(':').next() == Some(PACKAGE_USER));
    let mut numbers = entry.into_iter().flat_map(|line| line.split(':').skip(2)).map_while(|part| part.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(user), Some(group)) => Ok(Some(Account { user, group })),
        _ => Err(ToolError::Missing("postgresql")),
    }
}

fn program(name: &str) -> Result<PathBuf, ToolError> {
    let versions = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let places: Vec<String> =
        versions.map(|version| version.path().join("bin").join(name).display().to_string()).collect();
    let places: Vec<&str> = places.iter().map(String::as_str).collect();
    find(&name.to_uppercase(), name, &places).ok_or(ToolError::Missing("postgresql"))
}
