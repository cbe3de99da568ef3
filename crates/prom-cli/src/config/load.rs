//! Where the configuration comes from: flags over environment over file over defaults.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::problem::{ConfigProblem, ConfigProblems};
use super::{Config, StoreKind, environment, file};

/// Read when it is there and no other file is named.
pub const USUAL_FILE: &str = "prom.toml";

/// What flags say; `None` leaves it to the rest.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    pub listen: Option<SocketAddr>,
    pub data: Option<PathBuf>,
    pub store: Option<StoreKind>,
    pub mongo_url: Option<String>,
    pub hub_url: Option<String>,
    pub hub_ttl: Option<Duration>,
    pub log_level: Option<String>,
}

/// A configuration and the file it came from, if there was one.
pub struct Loaded {
    pub config: Config,
    pub file: Option<PathBuf>,
}

/// Errors of the file and of the environment come together.
pub fn load(
    named_file: Option<&Path>,
    variable: impl Fn(&str) -> Option<String>,
    overrides: Overrides,
) -> Result<Loaded, ConfigProblems> {
    let mut config = Config::default();
    let file = find(named_file);
    let mut problems = Vec::new();
    if let Some(path) = &file {
        problems.extend(read_file(&mut config, path).err());
    }
    problems.extend(environment::read(&mut config, variable).err());
    if !problems.is_empty() {
        return Err(ConfigProblems(problems.into_iter().flat_map(|problems| problems.0).collect()));
    }
    overrides.apply(&mut config);
    Ok(Loaded { config, file })
}

/// A configuration whose text is at hand. Neither the environment nor a file in this folder says anything.
pub fn load_text(name: &str, text: &str, overrides: Overrides) -> Result<Loaded, ConfigProblems> {
    let mut config = Config::default();
    file::read(&mut config, name, text)?;
    overrides.apply(&mut config);
    Ok(Loaded { config, file: None })
}

fn find(named: Option<&Path>) -> Option<PathBuf> {
    match named {
        Some(path) => Some(path.to_path_buf()),
        None => Some(PathBuf::from(USUAL_FILE)).filter(|usual| usual.exists()),
    }
}

fn read_file(config: &mut Config, path: &Path) -> Result<(), ConfigProblems> {
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => file::read(config, &name, &text),
        Err(error) => Err(ConfigProblem::new(name, format!("cannot be read: {error}"))
            .hint("`prom config default` prints a file to begin with")
            .into()),
    }
}

impl Overrides {
    fn apply(self, config: &mut Config) {
        let Self { listen, data, store, mongo_url, hub_url, hub_ttl, log_level } = self;
        config.server.listen = listen.unwrap_or(config.server.listen);
        config.server.data = data.unwrap_or_else(|| std::mem::take(&mut config.server.data));
        config.store.kind = store.unwrap_or(config.store.kind);
        config.mongo.url = mongo_url.or_else(|| config.mongo.url.take());
        config.mongo.hub_url = hub_url.or_else(|| config.mongo.hub_url.take());
        config.mongo.hub_ttl = hub_ttl.unwrap_or(config.mongo.hub_ttl);
        config.log.level = log_level.unwrap_or_else(|| std::mem::take(&mut config.log.level));
    }
}
