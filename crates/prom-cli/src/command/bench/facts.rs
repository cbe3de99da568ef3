//! What is known about both sides: a figure without its surroundings says little.

use prom_protocol::http::stats::HubStats;
use serde::Serialize;

use crate::hub::HubClient;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Facts {
    pub hub: HubFacts,
    pub client: ClientFacts,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct HubFacts {
    pub url: String,
    /// Not known where the token has no `ops` on everything.
    pub version: Option<String>,
    pub store: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClientFacts {
    pub version: &'static str,
    /// Of the machine that makes the load; often the hub's too.
    pub processors: usize,
}

impl Facts {
    /// What the hub does not tell is left out; whether it is there is found out by connecting.
    pub async fn ask(hub: &HubClient) -> Self {
        let stats = match hub.get(&["stats"], &()).await {
            Ok(answer) => answer.parse::<HubStats>().ok(),
            Err(_) => None,
        };
        let (version, store) = stats.map(|stats| (stats.version, stats.store.kind)).unzip();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            hub: HubFacts { url: hub.address(), version, store },
            client: ClientFacts { version: env!("CARGO_PKG_VERSION"), processors },
        }
    }
}
