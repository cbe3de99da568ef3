//! What a hub says when it is ready: where everything is, who is let in, and what to type next.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::config::{AuthConfig, Config, StoreDurability, StoreKind};
use crate::output::Style;

/// Where the hub really listens, which port 0 leaves to the system.
pub struct Addresses {
    pub listen: SocketAddr,
    pub ops: Option<SocketAddr>,
}

const USUAL_URL: &str = "http://127.0.0.1:8090";

/// `prom` is how the reader starts this program, see [`how_to_call_this`].
pub fn greeting(config: &Config, file: Option<&Path>, at: &Addresses, prom: &str, style: Style) -> String {
    let s = if config.server.tls.is_some() { "s" } else { "" };
    let http = format!("http{s}://{}", reachable(at.ops.unwrap_or(at.listen)));
    let mut lines = vec![
        style.bold(&format!("prom {} is ready", env!("CARGO_PKG_VERSION"))),
        format!("  page       {http}/"),
        format!("  API        {http}/openapi.json"),
        format!("  WebSocket  ws{s}://{}/ws", reachable(at.listen)),
        format!("  data       {}", data(config)),
        format!("  auth       {}", auth(&config.auth)),
    ];
    if let Some(file) = file {
        lines.push(format!("  settings   {}", file.display()));
    }
    let mut flags = String::new();
    let url = address(config, at);
    if url != USUAL_URL {
        flags = format!(" --url {url}");
    }
    if !config.auth.is_open() {
        flags.push_str(" --token TOKEN");
    }
    lines.push(style.bold("what to type next, in another terminal"));
    lines.push(format!("  {prom} pub hello '{{\"n\":1}}'{flags}"));
    lines.push(format!("  {prom} sub hello --from earliest{flags}"));
    if at.ops.is_some() {
        lines
            .push(format!("  {prom} topics --url {http}{}", if config.auth.is_open() { "" } else { " --token TOKEN" }));
    }
    lines.join("\n")
}

/// Where clients reach the hub.
pub fn address(config: &Config, at: &Addresses) -> String {
    let s = if config.server.tls.is_some() { "s" } else { "" };
    format!("http{s}://{}", reachable(at.listen))
}

/// The name of this program if typing it starts it, else the path to it.
pub fn how_to_call_this() -> String {
    let named = "prom".to_owned();
    let Ok(this) = std::env::current_exe() else {
        return named;
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_this = |folder: PathBuf| folder.join("prom").canonicalize().is_ok_and(|found| found == this);
    if std::env::split_paths(&path).any(is_this) {
        return named;
    }
    let here = std::env::current_dir().ok();
    let near = here.and_then(|here| this.strip_prefix(here).ok().map(|near| format!("./{}", near.display())));
    near.unwrap_or_else(|| this.display().to_string())
}

/// An address that can be typed: 0.0.0.0 is every address, but no place to go to.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => SocketAddr::from(([127, 0, 0, 1], v4.port())),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], v6.port())),
        address => address,
    }
}

fn data(config: &Config) -> String {
    match (config.store.kind, config.store.durability) {
        (StoreKind::Memory, _) => "in memory: gone when the hub ends".to_owned(),
        // The address is not repeated: there may be a password in it.
        (StoreKind::Mongo, _) => "in MongoDB, journaled by a majority".to_owned(),
        (_, StoreDurability::Fsync) => absolute(&config.server.data),
        (_, StoreDurability::Os) => {
            format!("{} (durability os: a power loss can take what was answered)", absolute(&config.server.data))
        }
    }
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path)).display().to_string()
}

fn auth(auth: &AuthConfig) -> String {
    if auth.is_open() {
        return "none: every user of this machine may do everything".to_owned();
    }
    let ways = [
        auth.jwks_url.as_ref().map(|url| format!("keys of {url}")),
        auth.jwt_secret.as_ref().map(|_| "HS256 secret (`prom token` makes tokens)".to_owned()),
        auth.static_token.as_ref().map(|_| "static token, which may do everything".to_owned()),
    ];
    ways.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hub_with_defaults_says_where_everything_is() {
        let mut config = Config::default();
        config.server.data = "/data".into();
        let at = Addresses { listen: config.server.listen, ops: None };
        insta::assert_snapshot!(greeting(&config, None, &at, "prom", Style::Plain), @r#"
        prom 0.1.0 is ready
          page       http://127.0.0.1:8090/
          API        http://127.0.0.1:8090/openapi.json
          WebSocket  ws://127.0.0.1:8090/ws
          data       /data
          auth       none: every user of this machine may do everything
        what to type next, in another terminal
          prom pub hello '{"n":1}'
          prom sub hello --from earliest
        "#);
    }

    #[test]
    fn a_hub_elsewhere_says_what_to_add() {
        let mut config = Config::default();
        config.store.kind = StoreKind::Memory;
        config.auth.jwt_secret = Some("hunter2".into());
        config.auth.static_token = Some("hunter3".into());
        let at = Addresses { listen: "0.0.0.0:9000".parse().unwrap(), ops: Some("0.0.0.0:9001".parse().unwrap()) };
        let text = greeting(&config, Some("prom.toml".as_ref()), &at, "prom", Style::Plain);
        assert!(!text.contains("hunter"), "a secret was printed");
        insta::assert_snapshot!(text, @r#"
        prom 0.1.0 is ready
          page       http://127.0.0.1:9001/
          API        http://127.0.0.1:9001/openapi.json
          WebSocket  ws://127.0.0.1:9000/ws
          data       in memory: gone when the hub ends
          auth       HS256 secret (`prom token` makes tokens); static token, which may do everything
          settings   prom.toml
        what to type next, in another terminal
          prom pub hello '{"n":1}' --url http://127.0.0.1:9000 --token TOKEN
          prom sub hello --from earliest --url http://127.0.0.1:9000 --token TOKEN
          prom topics --url http://127.0.0.1:9001 --token TOKEN
        "#);
    }
}
