//! Making a connection: name look-up, TCP, TLS, the upgrade to WebSocket, AUTH.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use prom_protocol::frame::auth::{Auth, BATCH, Welcome};
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::{Corr, HubFrame};
use prom_protocol::websocket::Message;
use prom_protocol::{CloseCode, ErrorCode, Reconnect};
use rustls_pki_types::ServerName;
use sha1::{Digest, Sha1};
use tokio::net::TcpStream;

use super::random::Random;
use super::socket::{BoxedStream, Socket, Step};
use crate::Error;
use crate::core::Core;
use crate::limits::FRAME_BYTES;
use crate::options::Frames;

/// A connection that the hub has let in.
pub(crate) struct Link {
    pub(super) socket: Socket,
    pub(super) welcome: Welcome,
}

/// Why there is none.
#[derive(Debug)]
pub(super) enum DialError {
    /// Trying again may help.
    Unreachable(String),
    /// The token was refused; another one may do.
    Token(Error),
    /// Trying again cannot help.
    Refused(Error),
}

/// What RFC 6455 has hubs mix with the key.
const ACCEPT_SALT: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// One attempt, within the time the options give it.
pub(super) async fn attempt(core: &Core) -> Result<Link, DialError> {
    let limit = core.options.connect_timeout;
    match tokio::time::timeout(limit, connect(core)).await {
        Ok(result) => result,
        Err(_) => Err(DialError::Unreachable(format!("no answer within {limit:?}"))),
    }
}

impl DialError {
    pub fn into_error(self, core: &Core) -> Error {
        match self {
            Self::Unreachable(reason) => Error::Unreachable { url: core.url.to_string(), reason },
            Self::Token(error) | Self::Refused(error) => error,
        }
    }
}

async fn connect(core: &Core) -> Result<Link, DialError> {
    let token = core.options.token.fetch().await.map_err(DialError::Token)?;
    let stream = open(core).await.map_err(DialError::Unreachable)?;
    let mut socket = upgrade(core, stream).await.map_err(DialError::Unreachable)?;
    let welcome = authenticate(core, &mut socket, token).await?;
    Ok(Link { socket, welcome })
}

async fn open(core: &Core) -> Result<BoxedStream, String> {
    let address = (core.url.host.as_str(), core.url.port);
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    // Writes are gathered here already.
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    match &core.tls {
        None => Ok(Box::new(stream)),
        Some(tls) => {
            let name = ServerName::try_from(core.url.host.clone()).map_err(|error| error.to_string())?;
            let stream = tls.connect(name, stream).await.map_err(|error| format!("TLS: {error}"))?;
            Ok(Box::new(stream))
        }
    }
}

async fn upgrade(core: &Core, stream: BoxedStream) -> Result<Socket, String> {
    let key = STANDARD.encode(Random::new().bytes_16());
    let request = Request::get(&core.url.path)
        .header(header::HOST, &core.url.authority)
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
    Ok(Socket::new(parts.io.into_inner(), &parts.read_buf))
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

/// Always the first frame; nothing else is sent before its answer, which says what the hub can do.
async fn authenticate(core: &Core, socket: &mut Socket, token: Option<String>) -> Result<Welcome, DialError> {
    let auth = auth_frame(core, token);
    let corr = Corr::number(0);
    socket
        .text(FRAME_BYTES, |out| auth.write(out, Some(&corr)))
        .map_err(|size| DialError::Refused(Error::TooLarge { what: "the token", size, limit: FRAME_BYTES }))?;
    loop {
        while let Some(message) = socket.next_message().map_err(|error| DialError::Unreachable(error.to_string()))? {
            match message {
                Message::Text(text) => return read_answer(text),
                Message::Ping(payload) => socket.pong(&payload),
                Message::Pong => {}
                Message::Close(code) => return Err(closed(code)),
            }
        }
        match socket.step().await {
            Ok(Step::Ended) => return Err(DialError::Unreachable("the hub hung up during AUTH".to_owned())),
            Ok(_) => {}
            Err(error) => return Err(DialError::Unreachable(error.to_string())),
        }
    }
}

pub(super) fn auth_frame(core: &Core, token: Option<String>) -> Auth<'static> {
    let features = match core.options.frames {
        Frames::Batched => vec![BATCH.to_owned()],
        Frames::Plain => Vec::new(),
    };
    Auth { token: token.map(Into::into), features }
}

fn read_answer(text: Bytes) -> Result<Welcome, DialError> {
    let malformed = |error: &dyn std::fmt::Display| DialError::Unreachable(format!("AUTH was answered oddly: {error}"));
    match HubFrame::read(text) {
        Ok(HubFrame::Ok(done)) => done.welcome().map_err(|error| malformed(&error)),
        Ok(HubFrame::Err { problem, .. }) => Err(refusal(problem)),
        Ok(_) => Err(malformed(&"neither OK nor ERR")),
        Err(error) => Err(malformed(&error)),
    }
}

fn refusal(problem: Problem) -> DialError {
    match problem.code {
        ErrorCode::JwtInvalid | ErrorCode::JwtExpired | ErrorCode::NoToken => DialError::Token(problem.into()),
        ErrorCode::Overloaded | ErrorCode::Internal | ErrorCode::RateLimited => DialError::Unreachable(problem.msg),
        _ => DialError::Refused(problem.into()),
    }
}

fn closed(code: Option<u16>) -> DialError {
    let reason = format!("the hub closed the connection during AUTH ({})", code.unwrap_or(1005));
    match code.map_or(Reconnect::Yes, CloseCode::reconnect) {
        Reconnect::No => DialError::Refused(Error::closed(reason)),
        Reconnect::WithToken => DialError::Token(Error::Token { reason }),
        Reconnect::Yes => DialError::Unreachable(reason),
    }
}
