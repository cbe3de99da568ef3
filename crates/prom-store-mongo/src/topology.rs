//! What the driver sees of the servers, in words: why writes cannot succeed now, and whether waiting can help.

use mongodb::ServerType;
use mongodb::error::ErrorKind;
use mongodb::event::sdam::TopologyDescription;
use prom_store::StoreError;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::fault;
use crate::limits::SILENT_START;

/// The last view of the servers; `None` while there is a primary.
pub struct Topology(watch::Sender<Option<TopologyTrouble>>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopologyTrouble {
    /// Members of the set answer, none takes writes.
    NoPrimary { members: String },
    /// No server answers, each with the reason.
    Unreachable { servers: String },
    /// Started with a set's name that no one has given members.
    NotInitiated { server: String },
    /// The driver dropped all servers: they are of another set, or of none.
    OtherSet,
}

impl Default for Topology {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl Topology {
    pub fn see(&self, servers: &TopologyDescription) {
        self.0.send_replace(judge(servers));
    }

    pub fn trouble(&self) -> Option<String> {
        self.0.borrow().as_ref().map(|trouble| match trouble {
            TopologyTrouble::NoPrimary { .. } => "MongoDB has no reachable primary".to_owned(),
            other => format!("MongoDB has no reachable primary: {}", other.reason()),
        })
    }

    /// Says what is being waited for, each reason once. Returns when waiting cannot help, or has lasted too long.
    pub async fn give_up(&self, deadline: Instant) -> StoreError {
        let mut seen = self.0.subscribe();
        let mut said = None;
        let speak_from = Instant::now() + SILENT_START;
        loop {
            let trouble = seen.borrow_and_update().clone();
            let now = Instant::now();
            match trouble {
                Some(trouble) if now >= deadline || !trouble.may_pass() => return trouble.refusal(),
                Some(trouble) if now >= speak_from && said.as_ref() != Some(&trouble) => {
                    tracing::warn!(reason = %trouble.reason(), "waiting for MongoDB");
                    said = Some(trouble);
                }
                _ => {}
            }
            let next = if now < speak_from { speak_from } else { deadline.max(now + SILENT_START) };
            tokio::select! {
                _ = seen.changed() => {}
                () = tokio::time::sleep_until(next) => {}
            }
        }
    }
}

fn judge(servers: &TopologyDescription) -> Option<TopologyTrouble> {
    let servers = servers.servers();
    let are = |wanted: fn(ServerType) -> bool| {
        let found = servers.iter().filter(move |(_, server)| wanted(server.server_type()));
        let mut names: Vec<String> = found.map(|(address, _)| address.to_string()).collect();
        names.sort_unstable();
        (!names.is_empty()).then(|| names.join(", "))
    };
    // A standalone server answers; opening refuses it.
    if are(|kind| {
        matches!(kind, ServerType::RsPrimary | ServerType::Mongos | ServerType::LoadBalancer | ServerType::Standalone)
    })
    .is_some()
    {
        return None;
    }
    if let Some(members) =
        are(|kind| matches!(kind, ServerType::RsSecondary | ServerType::RsArbiter | ServerType::RsOther))
    {
        return Some(TopologyTrouble::NoPrimary { members });
    }
    if let Some(server) = are(|kind| kind == ServerType::RsGhost) {
        return Some(TopologyTrouble::NotInitiated { server });
    }
    if servers.is_empty() {
        return Some(TopologyTrouble::OtherSet);
    }
    let why = |error: &mongodb::error::Error| match error.kind.as_ref() {
        ErrorKind::Io(error) => error.to_string(),
        _ => fault::reason(error),
    };
    let silent = servers.iter().map(|(address, server)| match server.error() {
        Some(error) => format!("{address}: {}", why(error)),
        None => format!("{address}: no answer yet"),
    });
    let mut silent: Vec<String> = silent.collect();
    silent.sort_unstable();
    Some(TopologyTrouble::Unreachable { servers: silent.join("; ") })
}

impl TopologyTrouble {
    fn may_pass(&self) -> bool {
        matches!(self, Self::NoPrimary { .. } | Self::Unreachable { .. })
    }

    fn reason(&self) -> String {
        match self {
            Self::NoPrimary { members } => format!("the set has no primary; {members} can be reached"),
            Self::Unreachable { servers } => servers.clone(),
            Self::NotInitiated { server } => {
                format!("{server} was started with --replSet, and rs.initiate() was never run")
            }
            Self::OtherSet => "the servers belong to another replica set, or to none".to_owned(),
        }
    }

    fn refusal(&self) -> StoreError {
        let (what, fix) = match self {
            Self::NoPrimary { .. } => {
                ("MongoDB has no primary", "check that a majority of the set's members run and reach each other")
            }
            Self::Unreachable { .. } => (
                "MongoDB cannot be reached",
                "check that the servers run, that the addresses are right and that the set has a primary",
            ),
            Self::NotInitiated { .. } => (
                "this MongoDB replica set is not initiated",
                "run rs.initiate() once in mongosh; a set of one member is enough",
            ),
            Self::OtherSet => (
                "the MongoDB servers are not of the set that the connection string names",
                "correct replicaSet in it, or start the servers with --replSet and run rs.initiate() once",
            ),
        };
        StoreError::Server { what, reason: self.reason(), fix }
    }
}
