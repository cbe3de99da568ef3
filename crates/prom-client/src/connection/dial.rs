//! Making a connection: everything up to WebSocket, then AUTH.

use bytes::Bytes;
use prom_protocol::frame::auth::{Auth, BATCH, ORDERED, Welcome};
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::{Corr, HubFrame};
use prom_protocol::websocket::Message;
use prom_protocol::{CloseCode, ErrorCode, Reconnect};

use super::socket::{Socket, Step};
use super::upgrade::{open, upgrade};
use crate::Error;
use crate::core::ClientCore;
use crate::limits::FRAME_BYTES;
use crate::options::{FrameStyle, RateLimited};

/// A connection that the hub has let in.
pub(crate) struct AuthenticatedSocket {
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

/// One attempt, within the time the options give it.
pub(super) async fn attempt(core: &ClientCore) -> Result<AuthenticatedSocket, DialError> {
    let limit = core.options.connect_timeout;
    match tokio::time::timeout(limit, connect(core)).await {
        Ok(result) => result,
        Err(_) => Err(DialError::Unreachable(format!("no answer within {limit:?}"))),
    }
}

impl DialError {
    pub fn into_error(self, core: &ClientCore) -> Error {
        match self {
            Self::Unreachable(reason) => Error::Unreachable { url: core.url.to_string(), reason },
            Self::Token(error) | Self::Refused(error) => error,
        }
    }
}

async fn connect(core: &ClientCore) -> Result<AuthenticatedSocket, DialError> {
    let token = core.options.token.fetch().await.map_err(DialError::Token)?;
    let connector = &*core.options.surroundings.connector;
    let stream = open(&core.url, connector, core.tls.as_ref()).await.map_err(DialError::Unreachable)?;
    let mut socket = upgrade(&core.url, stream, core.random()).await.map_err(DialError::Unreachable)?;
    let welcome = authenticate(core, &mut socket, token).await?;
    Ok(AuthenticatedSocket { socket, welcome })
}

/// Always the first frame; nothing else is sent before its answer, which says what the hub can do.
async fn authenticate(core: &ClientCore, socket: &mut Socket, token: Option<String>) -> Result<Welcome, DialError> {
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

pub(super) fn auth_frame(core: &ClientCore, token: Option<String>) -> Auth<'static> {
    let batch = (core.options.frames == FrameStyle::Batched).then_some(BATCH);
    let ordered = (core.options.rate_limited == RateLimited::Retry).then_some(ORDERED);
    let features = batch.into_iter().chain(ordered).map(str::to_owned).collect();
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
