//! A separate replica set of one or three members.

use std::path::Path;
use std::time::Duration;

use mongodb::Client;
use mongodb::bson::{Document, doc};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::certificates::Certificates;
use super::member::SetMember;
use crate::tools::ToolError;

pub(super) const SET_NAME: &str = "prom";
/// Starting a member takes about a second; a busy machine gets more time.
const READY_DEADLINE: Duration = Duration::from_secs(90);
const LOOK_EVERY: Duration = Duration::from_millis(30);

/// Who may use the servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Access {
    #[default]
    Open,
    /// Only this user, who is created and may do everything.
    Password { user: String, password: String },
}

/// How a set is started.
#[derive(Debug, Clone)]
pub struct SetOptions {
    pub members: usize,
    pub access: Access,
    /// Servers that accept only encrypted connections.
    pub certificates: Option<Certificates>,
}

/// Ends everything it started when dropped.
pub struct ReplicaSet {
    pub members: Vec<SetMember>,
    options: SetOptions,
    folder: TempDir,
}

impl Default for SetOptions {
    fn default() -> Self {
        Self { members: 1, access: Access::Open, certificates: None }
    }
}

impl ReplicaSet {
    /// A set of this many members, open to every process on this machine.
    pub async fn start(members: usize) -> Result<Self, ToolError> {
        Self::start_with(SetOptions { members, ..SetOptions::default() }).await
    }

    pub async fn start_with(options: SetOptions) -> Result<Self, ToolError> {
        let folder = TempDir::new()?;
        let mut arguments = vec!["--replSet".to_owned(), SET_NAME.to_owned()];
        if options.access != Access::Open {
            arguments.extend(["--auth".to_owned(), "--keyFile".to_owned(), key_file(&folder)?]);
        }
        if let Some(certificates) = &options.certificates {
            arguments.extend(tls_arguments(certificates));
        }
        let mut members = Vec::new();
        for index in 0..options.members {
            let own = folder.path().join(format!("member-{index}"));
            std::fs::create_dir_all(&own)?;
            members.push(SetMember::start(&own, &arguments)?);
        }
        let set = Self { members, options, folder };
        let hosts: Vec<String> = set.members.iter().map(SetMember::address).collect();
        initiate(&set.direct_url(0), &hosts).await?;
        set.make_user().await?;
        Ok(set)
    }

    /// A server without a replica set, which the store refuses.
    pub async fn standalone() -> Result<(SetMember, TempDir, String), ToolError> {
        let folder = TempDir::new()?;
        let member = SetMember::start(folder.path(), &[])?;
        let url = format!("mongodb://{}/prom", member.address());
        ask(&url, doc! { "ping": 1 }).await?;
        Ok((member, folder, url))
    }

    /// A server of a set that has no members yet, as it is before `rs.initiate()`.
    pub async fn not_initiated() -> Result<(SetMember, TempDir, String), ToolError> {
        let folder = TempDir::new()?;
        let member = SetMember::start(folder.path(), &["--replSet".to_owned(), SET_NAME.to_owned()])?;
        let url = format!("mongodb://{}/prom", member.address());
        ask(&format!("{url}?directConnection=true"), doc! { "hello": 1 }).await?;
        Ok((member, folder, url))
    }

    /// Where the servers have their files and logs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The address for clients, including credentials.
    pub fn url(&self, database: &str) -> String {
        let hosts: Vec<_> = self.members.iter().map(SetMember::address).collect();
        format!(
            "mongodb://{}{}/{database}?replicaSet={SET_NAME}{}",
            self.user_part(),
            hosts.join(","),
            self.options_part()
        )
    }

    /// The member that takes writes now.
    pub async fn primary(&self) -> Result<usize, ToolError> {
        until(|| async move {
            for index in (0..self.members.len()).filter(|&index| self.members[index].is_running()) {
                let answer = ask_once(&self.direct_url(index), doc! { "hello": 1 }).await;
                if answer.is_ok_and(|hello| hello.get_bool("isWritablePrimary").unwrap_or(false)) {
                    return Ok(index);
                }
            }
            Err("the set has no primary".to_owned())
        })
        .await
    }

    /// Waits until every member runs and follows the primary, so that the set can lose any one of them.
    pub async fn until_whole(&self) -> Result<(), ToolError> {
        let primary = self.primary().await?;
        for (index, member) in self.members.iter().enumerate().filter(|(index, _)| *index != primary) {
            until(|| async move {
                let hello = ask_once(&self.direct_url(index), doc! { "hello": 1 }).await;
                if hello.is_ok_and(|hello| hello.get_bool("secondary").unwrap_or(false)) {
                    return Ok(());
                }
                let log = member.log();
                let last: Vec<&str> = log.lines().rev().take(30).collect();
                Err(format!("{} does not follow the primary; it says:\n{}", member.address(), last.join("\n")))
            })
            .await?;
        }
        Ok(())
    }

    fn direct_url(&self, index: usize) -> String {
        let host = self.members[index].address();
        format!("mongodb://{}{host}/?directConnection=true{}", self.user_part(), self.options_part())
    }

    fn user_part(&self) -> String {
        match &self.options.access {
            Access::Open => String::new(),
            Access::Password { user, password } => format!("{user}:{password}@"),
        }
    }

    fn options_part(&self) -> String {
        let mut options = String::new();
        if self.options.access != Access::Open {
            options.push_str("&authSource=admin");
        }
        if let Some(certificates) = &self.options.certificates {
            options.push_str(&format!("&tls=true&tlsCAFile={}", certificates.authority.display()));
        }
        options
    }

    async fn make_user(&self) -> Result<(), ToolError> {
        let Access::Password { user, password } = &self.options.access else {
            return Ok(());
        };
        let make = &doc! { "createUser": user, "pwd": password, "roles": ["root"] };
        // Only the primary accepts it, and the primary may just have changed.
        until(|| async move {
            let mut refused = String::new();
            for index in 0..self.members.len() {
                match ask_once(&without_user(&self.direct_url(index)), make.clone()).await {
                    Ok(_) => return Ok(()),
                    Err(error) => refused = error.to_string(),
                }
            }
            Err(refused)
        })
        .await
    }
}

/// Makes a set of the servers and waits until one of them takes writes.
pub(super) async fn initiate(url: &str, hosts: &[String]) -> Result<(), ToolError> {
    // Before there is a user, only this machine is let in, without credentials.
    let open = without_user(url);
    let members: Vec<_> = (0i32..).zip(hosts).map(|(index, host)| doc! { "_id": index, "host": host }).collect();
    // Elections within a second or two, so that tests of failures do not wait for ten.
    let settings = doc! { "electionTimeoutMillis": 1500, "heartbeatIntervalMillis": 300 };
    let plan = doc! { "_id": SET_NAME, "members": members, "settings": settings };
    ask(&open, doc! { "ping": 1 }).await?;
    // The other members may not have opened their ports yet.
    ask(&open, doc! { "replSetInitiate": plan }).await?;
    until(|| async {
        match ask_once(&open, doc! { "hello": 1 }).await {
            Ok(hello) if hello.contains_key("primary") => Ok(()),
            _ => Err("the set chose no primary".to_owned()),
        }
    })
    .await
}

fn without_user(url: &str) -> String {
    match url.split_once('@') {
        Some((_, rest)) => format!("mongodb://{}", rest.replace("&authSource=admin", "")),
        None => url.to_owned(),
    }
}

/// Retries until the server agrees.
async fn ask(url: &str, command: Document) -> Result<Document, ToolError> {
    until(|| async { ask_once(url, command.clone()).await.map_err(|error| error.to_string()) }).await
}

/// Looks again and again; when it took too long, fails with the last reason.
async fn until<T, F: Future<Output = Result<T, String>>>(look: impl Fn() -> F) -> Result<T, ToolError> {
    let begin = Instant::now();
    loop {
        match look().await {
            Ok(seen) => return Ok(seen),
            Err(reason) if begin.elapsed() > READY_DEADLINE => return Err(ToolError::Failed(reason)),
            Err(_) => sleep(LOOK_EVERY).await,
        }
    }
}

pub(super) async fn ask_once(url: &str, command: Document) -> mongodb::error::Result<Document> {
    let mut options = mongodb::options::ClientOptions::parse(url).await?;
    options.server_selection_timeout = Some(Duration::from_millis(500));
    let client = Client::with_options(options)?;
    client.database("admin").run_command(command).await
}

fn tls_arguments(certificates: &Certificates) -> Vec<String> {
    let (server, authority) = (certificates.server.display().to_string(), certificates.authority.display().to_string());
    let flags = ["--tlsMode", "requireTLS", "--tlsAllowConnectionsWithoutCertificates", "--tlsCertificateKeyFile"];
    let mut arguments: Vec<String> = flags.map(str::to_owned).into();
    arguments.extend([server, "--tlsCAFile".to_owned(), authority]);
    arguments
}

/// The shared key of a set with passwords: members authenticate each other with it.
fn key_file(folder: &TempDir) -> Result<String, ToolError> {
    use std::os::unix::fs::PermissionsExt;
    let file = folder.path().join("key");
    std::fs::write(&file, "a2V5IG9mIGEgc2V0IHRoYXQgbGl2ZXMgZm9yIG9uZSB0ZXN0")?;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?;
    Ok(file.display().to_string())
}
