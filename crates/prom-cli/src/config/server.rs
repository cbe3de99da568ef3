//! `[server]`: where the hub listens and where its data is.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::section::ConfigSection;
use super::value;

pub const TEXT: &str = r#"[server]
# Where the hub listens. Without [auth] only loopback addresses are allowed. WS_PORT replaces the port.
#listen = "127.0.0.1:8090"
# A separate port for HTTP; WebSocket stays on `listen`. OPS_PORT does the same. Unset: one port for both.
#ops_port = 8091
# The directory of the embedded store. Only one hub at a time can open it.
#data = "./prom-data"
# PEM files; with them the hub accepts only TLS. Unset: no TLS.
#tls = { cert = "cert.pem", key = "key.pem" }
# How long a shutdown waits for handlers to finish.
#drain = "10s"
"#;

#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    pub listen: SocketAddr,
    pub ops_port: Option<u16>,
    pub data: PathBuf,
    pub tls: Option<TlsFiles>,
    pub drain: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    pub cert: PathBuf,
    pub key: PathBuf,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 8090),
            ops_port: None,
            data: PathBuf::from("./prom-data"),
            tls: None,
            drain: Duration::from_secs(10),
        }
    }
}

impl ServerConfig {
    pub fn read(&mut self, section: &mut ConfigSection<'_>) {
        section.set("listen", &mut self.listen, value::address);
        section.set_some("ops_port", &mut self.ops_port, value::number(0..=u16::MAX));
        section.set("data", &mut self.data, value::path);
        section.table("tls", "[server] tls", |section| self.tls = read_tls(section));
        section.set("drain", &mut self.drain, value::duration);
    }
}

fn read_tls(section: &mut ConfigSection<'_>) -> Option<TlsFiles> {
    let (mut cert, mut key) = (None, None);
    section.set_some("cert", &mut cert, value::path);
    section.set_some("key", &mut key, value::path);
    if !section.has("cert") || !section.has("key") {
        section.complain("`tls` needs both files: tls = { cert = \"cert.pem\", key = \"key.pem\" }");
    }
    Some(TlsFiles { cert: cert?, key: key? })
}
