//! `[mongo]`: the database behind `kind = "mongo"`.

use std::path::PathBuf;
use std::time::Duration;

use prom_engine::limits::{LONGEST_HUB_TTL, SHORTEST_HUB_TTL};
use toml::de::DeValue;

use super::section::ConfigSection;
use super::value;
use crate::units;

pub const TEXT: &str = r#"[mongo]
# The replica set for `kind = "mongo"`; without a database name, the database is `prom`. MONGO_URL replaces it. Unset by
# default.
#url = "mongodb://127.0.0.1:27017/prom?replicaSet=rs0"
# Prefix of all collection names, so that several installations can share one database.
#prefix = ""
# Address at which the other hubs on this database reach this one. Unset: the address in `listen`, which they must be
# able to reach.
#hub_url = "http://hub-1.internal:8090"
# The other hubs take over from a hub that is silent for this long; between 1s and 10m.
#hub_ttl = "10s"
# PEM certificates to trust in addition to the system's, if the other hubs use TLS. Unset by default.
#hub_ca = "ca.pem"
"#;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MongoConfig {
    pub url: Option<String>,
    pub prefix: String,
    pub hub_url: Option<String>,
    pub hub_ttl: Duration,
    pub hub_ca: Option<PathBuf>,
}

impl Default for MongoConfig {
    fn default() -> Self {
        let hub_ttl = prom_engine::limits::HUB_TTL;
        Self { url: None, prefix: String::new(), hub_url: None, hub_ttl, hub_ca: None }
    }
}

impl MongoConfig {
    pub fn read(&mut self, section: &mut ConfigSection<'_>) {
        section.set_some("url", &mut self.url, url);
        section.set("prefix", &mut self.prefix, value::any_text);
        section.set_some("hub_url", &mut self.hub_url, value::web_address);
        section.set("hub_ttl", &mut self.hub_ttl, hub_ttl);
        section.set_some("hub_ca", &mut self.hub_ca, value::path);
    }
}

fn hub_ttl(value: &DeValue<'_>) -> Result<Duration, String> {
    value::duration(value).and_then(check_hub_ttl)
}

/// As a flag says it.
pub fn parse_hub_ttl(text: &str) -> Result<Duration, String> {
    units::parse_duration(text).and_then(check_hub_ttl)
}

fn check_hub_ttl(ttl: Duration) -> Result<Duration, String> {
    if (SHORTEST_HUB_TTL..=LONGEST_HUB_TTL).contains(&ttl) {
        Ok(ttl)
    } else {
        Err("a hub's time is between 1s and 10m".to_owned())
    }
}

fn url(value: &DeValue<'_>) -> Result<String, String> {
    value::text(value).and_then(|text| parse_url(&text))
}

/// Never repeats what it was given: there may be a password in it.
pub fn parse_url(text: &str) -> Result<String, String> {
    if text.starts_with("mongodb://") || text.starts_with("mongodb+srv://") {
        Ok(text.to_owned())
    } else {
        Err("a MongoDB address begins with mongodb:// or mongodb+srv://".to_owned())
    }
}
