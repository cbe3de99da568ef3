//! One server for all tests that run now, in any process.
//!
//! Each process that uses it holds a shared lock of the operating system, which ends with the process. A keeper next to
//! the server tries for the exclusive lock: once it gets it, no user is left, and it ends the server.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use mongodb::bson::doc;
use tokio::sync::OnceCell;

use super::member::server_arguments;
use super::program::mongod;
use super::replica_set::{SET_NAME, ask_once, initiate};
use crate::tools::{ToolError, free_port, shared_folder};

/// Waits two seconds between two attempts: a run that starts right away finds the server still there.
const KEEPER: &str = r#"folder=$1; data=$2; shift 2
"$@" </dev/null >"$folder/mongod.log" 2>&1 &
server=$!
while kill -0 $server 2>/dev/null; do
    sleep 2
    flock --exclusive --nonblock "$folder/users" sh -c "rm -f '$folder/address'; kill -KILL $server" && break
done
wait $server 2>/dev/null
rm -rf "$data""#;

/// How often a server is asked before another one is started.
const LOOKS: usize = 20;

/// A server shared with other tests: use a separate database.
#[derive(Debug)]
pub struct SharedServer {
    address: String,
    /// Held as long as this process lives.
    _user: Option<File>,
}

impl SharedServer {
    pub fn url(&self, database: &str) -> String {
        format!("mongodb://{}/{database}?replicaSet={SET_NAME}", self.address)
    }

    /// The address of a database that no other test has.
    pub fn fresh_url(&self) -> String {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        self.url(&format!("t{}_{}_{number}", std::process::id(), now.as_millis()))
    }
}

/// The server, started by the first caller. `PROM_TEST_MONGO` names another one (`host:port` of a set called `prom`).
pub async fn shared() -> Result<&'static SharedServer, ToolError> {
    static SERVER: OnceCell<SharedServer> = OnceCell::const_new();
    SERVER.get_or_try_init(find_or_start).await
}

async fn find_or_start() -> Result<SharedServer, ToolError> {
    if let Ok(address) = std::env::var("PROM_TEST_MONGO") {
        return Ok(SharedServer { address, _user: None });
    }
    let folder = shared_folder("mongo")?;
    let start = File::create(folder.join("start"))?;
    let users = File::create(folder.join("users"))?;
    // Both block, so they run off the async threads.
    let locked = tokio::task::spawn_blocking(move || {
        start.lock()?;
        users.lock_shared()?;
        Ok::<_, std::io::Error>((start, users))
    });
    let (start, users) = locked.await.map_err(|error| ToolError::Failed(error.to_string()))??;
    let address = match running(&folder).await {
        Some(address) => address,
        None => launch(&folder).await?,
    };
    start.unlock()?;
    Ok(SharedServer { address, _user: Some(users) })
}

/// A busy server gets some time to answer.
async fn running(folder: &Path) -> Option<String> {
    for _ in 0..LOOKS {
        let address = std::fs::read_to_string(folder.join("address")).ok()?;
        let url = format!("mongodb://{address}/?directConnection=true");
        let hello = ask_once(&url, doc! { "hello": 1 }).await;
        if hello.is_ok_and(|hello| hello.get_bool("isWritablePrimary").unwrap_or(false)) {
            return Some(address);
        }
    }
    None
}

async fn launch(folder: &Path) -> Result<String, ToolError> {
    let port = free_port()?;
    let data = folder.join(format!("data-{port}-{}", std::process::id()));
    std::fs::create_dir_all(&data)?;
    Command::new("sh")
        .args(["-c", KEEPER, "keeper"])
        .arg(folder)
        .arg(&data)
        .arg(mongod()?)
        .args(server_arguments(port, &data))
        .args(["--replSet", SET_NAME])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A signal to this test's process group must not end the shared server.
        .process_group(0)
        .spawn()?;
    let address = format!("127.0.0.1:{port}");
    initiate(&format!("mongodb://{address}/?directConnection=true"), std::slice::from_ref(&address)).await?;
    std::fs::write(folder.join("address"), &address)?;
    Ok(address)
}
