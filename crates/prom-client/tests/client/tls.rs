//! TLS: certificates of the machine, and those of a file.

use std::io::Write;
use std::sync::Arc;

use prom_client::{Client, Error, json};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::support::{Hub, Peer, options, within};

fn acceptor() -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("fixtures/localhost.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("fixtures/localhost.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

#[tokio::test]
async fn a_hub_behind_a_certificate_of_the_file_is_trusted_and_without_it_is_not() {
    let hub = Hub::start().await;
    let url = hub.url().replace("http://127.0.0.1", "https://localhost");
    let ca = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/client/fixtures/ca.pem");
    let serve = async {
        let stream = within(acceptor().accept(hub.stream().await)).await.unwrap();
        let mut peer = Peer::upgrade(stream).await;
        let auth = peer.frame("AUTH").await;
        peer.ok(&auth).await;
        peer
    };
    let (client, mut peer) = within(async { tokio::join!(Client::connect(&url, options().extra_ca(ca)), serve) }).await;
    let client = client.unwrap();
    let publishing = client.publish("a", json!(1)).send();
    let publish = peer.frame("PUBLISH").await;
    peer.receipt(&publish, 3).await;
    assert_eq!(within(publishing).await.unwrap().offset, 3);

    let serve = async { within(acceptor().accept(hub.stream().await)).await.is_err() };
    let (refused, hung_up) = within(async { tokio::join!(Client::connect(&url, options()), serve) }).await;
    let refused = refused.err().unwrap();
    assert!(matches!(refused, Error::Unreachable { .. } | Error::Tls { .. }), "{refused}");
    assert!(hung_up);
}

#[tokio::test]
async fn a_file_that_holds_no_certificate_is_refused_by_its_name() {
    let mut empty = tempfile::NamedTempFile::new().unwrap();
    for (file, expected) in [("/nowhere/ca.pem".to_owned(), "nowhere"), (empty.path().display().to_string(), "no PEM")]
    {
        let refused = within(Client::connect("https://127.0.0.1:1", options().extra_ca(file))).await.err().unwrap();
        assert!(matches!(&refused, Error::Tls { .. }) && refused.to_string().contains(expected), "{refused}");
    }
    empty.write_all(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    let refused = within(Client::connect("https://127.0.0.1:1", options().extra_ca(empty.path()))).await.err().unwrap();
    assert!(matches!(&refused, Error::Tls { .. }), "{refused}");
}
