//! From an address to a WebSocket: the connector, TLS, the upgrade.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls_pki_types::ServerName;
use sha1::{Digest, Sha1};
use tokio_rustls::TlsConnector;

use super::random::SplitMix;
use super::socket::Socket;
use crate::connector::{BoxedStream, Connector};
use crate::url::HubUrl;

/// What RFC 6455 has hubs mix with the key.
const ACCEPT_SALT: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// A stream to the hub, through TLS where its address says so.
pub(crate) async fn open(
    url: &HubUrl,
    connector: &dyn Connector,
    tls: Option<&TlsConnector>,
) -> Result<BoxedStream, String> {
    let stream = connector.connect(&url.host, url.port).await.map_err(|error| error.to_string())?;
    match tls {
        None => Ok(stream),
        Some(tls) => {
            let name = ServerName::try_from(url.host.clone()).map_err(|error| error.to_string())?;
            let stream = tls.connect(name, stream).await.map_err(|error| format!("TLS: {error}"))?;
            Ok(Box::new(stream))
        }
    }
}

/// From the stream to a WebSocket.
pub(crate) async fn upgrade(url: &HubUrl, stream: BoxedStream, mut random: SplitMix) -> Result<Socket, String> {
    let key = STANDARD.encode(random.bytes_16());
    let request = Request::get(&url.path)
        .header(header::HOST, &url.authority)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, &key)
        .header(header::USER_AGENT, concat!("prom-client/", env!("CARGO_PKG_VERSION")))
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| format!("HTTP: {error}"))?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(|error| format!("HTTP: {error}"))?;
        check_upgrade(&response, &key)?;
        hyper::upgrade::on(response).await.map_err(|error| format!("HTTP: {error}"))
    };
    let connection = async { connection.with_upgrades().await.map_err(|error| format!("HTTP: {error}")) };
    let (upgraded, ()) = tokio::try_join!(exchange, connection)?;
    let parts = upgraded
        .downcast::<TokioIo<BoxedStream>>()
        .map_err(|_| "the upgraded connection is not the one that was opened".to_owned())?;
    Ok(Socket::new(parts.io.into_inner(), &parts.read_buf, random))
}

fn check_upgrade(response: &Response<Incoming>, key: &str) -> Result<(), String> {
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(format!("the upgrade to WebSocket was answered with {}", response.status()));
    }
    let digest = Sha1::new().chain_update(key).chain_update(ACCEPT_SALT).finalize();
    let expected = STANDARD.encode(digest);
    match response.headers().get(header::SEC_WEBSOCKET_ACCEPT).map(HeaderValue::as_bytes) {
        Some(accept) if accept == expected.as_bytes() => Ok(()),
        _ => Err("the upgrade was answered without the right Sec-WebSocket-Accept".to_owned()),
    }
}
