//! TLS from files: both doors, and files that are wrong.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use prom_auth::{AuthOptions, Authenticator};
use prom_engine::{Bus, BusOptions};
use prom_gateway::{GatewayOptions, Hub, ServeError, Server, ServerOptions, Tls};
use prom_store::{MemoryStore, SystemClock};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_tungstenite::tungstenite::Message;

use crate::scene::{Scene, loopback, serve};

struct Files {
    dir: tempfile::TempDir,
    certificate: rcgen::Certificate,
}

impl Files {
    fn new() -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let certificate = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("cert.pem"), certificate.pem()).unwrap();
        std::fs::write(dir.path().join("key.pem"), key.serialize_pem()).unwrap();
        std::fs::write(dir.path().join("empty.pem"), "nothing here").unwrap();
        Self { dir, certificate }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        Path::join(self.dir.path(), name)
    }
}

async fn start(tls: Tls) -> Result<Server, ServeError> {
    let clock = Arc::new(SystemClock::new());
    let bus = Bus::start(Arc::new(MemoryStore::new(clock.clone())), BusOptions::default()).await.unwrap();
    let auth = Authenticator::new(AuthOptions::default()).unwrap();
    let hub = Hub::new(bus, auth, clock, GatewayOptions::default());
    serve(hub, &ServerOptions { tls: Some(tls), ..loopback() }).await
}

#[tokio::test]
async fn both_doors_are_served_by_certificate_files() {
    let files = Files::new();
    let server = start(Tls { cert: files.path("cert.pem"), key: files.path("key.pem") }).await.unwrap();
    let port = server.address().port();

    let mut roots = RootCertStore::empty();
    roots.add(files.certificate.der().clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let socket = TcpStream::connect(server.address()).await.unwrap();
    let name = rustls_pki_types::ServerName::try_from("localhost").unwrap();
    let secure = TlsConnector::from(Arc::new(config)).connect(name, socket).await.unwrap();
    let (mut client, _) = tokio_tungstenite::client_async(format!("wss://localhost:{port}/ws"), secure).await.unwrap();
    let large = "x".repeat(500_000);
    for frame in [json!({"op": "AUTH"}), json!({"op": "PUBLISH", "topic": "a", "payload": large})] {
        client.send(Message::text(frame.to_string())).await.unwrap();
        let answer: Value = serde_json::from_str(client.next().await.unwrap().unwrap().to_text().unwrap()).unwrap();
        assert_eq!(answer["op"], "OK", "{answer}");
    }
    client.close(None).await.unwrap();

    let trusted = reqwest::Certificate::from_der(files.certificate.der()).unwrap();
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([trusted]).build().unwrap();
    let answer = http.get(format!("https://localhost:{port}/replay?topic=a")).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let plain = reqwest::Client::builder().no_proxy().build().unwrap();
    assert!(plain.get(format!("http://localhost:{port}/healthz")).send().await.is_err(), "no TLS, no answer");
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_named() {
    let files = Files::new();
    let cases = [
        ("missing.pem", "key.pem", "missing.pem"),
        ("cert.pem", "missing.pem", "missing.pem"),
        ("empty.pem", "key.pem", "empty.pem"),
        ("cert.pem", "empty.pem", "empty.pem"),
    ];
    for (cert, key, named) in cases {
        let error = start(Tls { cert: files.path(cert), key: files.path(key) }).await.err().unwrap();
        assert!(matches!(&error, ServeError::Tls { path, .. } if path.ends_with(named)), "{error}");
    }
    let other = Files::new();
    let mixed = start(Tls { cert: files.path("cert.pem"), key: other.path("key.pem") }).await;
    assert!(mixed.is_err(), "a key that does not fit the certificate");
}

#[tokio::test]
async fn hubs_pass_frames_on_by_tls() {
    let files = Files::new();
    let tls = || Some(Tls { cert: files.path("cert.pem"), key: files.path("key.pem") });
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
    let mut clients = Vec::new();
    let mut hubs = Vec::new();
    for _ in 0..2 {
        let hub = Scene::among_others_by(&store, AuthOptions::default(), Duration::from_secs(10), tls()).await;
        let url = format!("https://{}", hub.server.address());
        let options = prom_client::ClientOptions::default().extra_ca(files.path("cert.pem"));
        clients.push(prom_client::Client::connect(&url, options).await.unwrap());
        hubs.push(hub);
    }
    clients[0].publish("orders", json!(1)).await.unwrap();
    // It serves the group, and nothing of it comes here.
    let first = clients[0].subscribe("orders", "g").from(prom_client::Position::Earliest).start().await.unwrap();
    first.pause().await.unwrap();
    let mut relayed = clients[1].subscribe("orders", "g").start().await.unwrap();
    clients[1].publish("orders", json!(2)).await.unwrap();
    let delivery = tokio::time::timeout(crate::scene::PATIENCE, relayed.next()).await.unwrap().unwrap();
    delivery.ack().await.unwrap();
    let trusted = reqwest::Certificate::from_der(files.certificate.der()).unwrap();
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([trusted]).build().unwrap();
    let why = http.get(format!("https://{}/why?topic=orders&group=g", hubs[1].server.address()));
    let why: Value = why.send().await.unwrap().json().await.unwrap();
    assert_eq!(why["partitions"][0]["status"]["subscribers"], 2, "{why}");
}
