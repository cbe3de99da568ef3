//! The connection: one task owns the socket and everything that waits.
//!
//! ```text
//!   dial ──▶ session ──lost──▶ wait ──▶ dial ──▶ …
//!              │ ▲                        what was under way leaves again, with the same ids
//!     mailbox ─┘ └─ answers, events
//! ```

mod backoff;
mod dial;
pub(crate) mod random;
pub(crate) mod socket;
pub(crate) mod tls;
pub(crate) mod upgrade;

mod pacer;
mod queue;
mod resume;
mod subscriptions;
mod work;

mod answers;
mod session;

mod answer;
mod close;
mod deliver;
mod publish;
mod refresh;
mod settle;
mod subscribe;
mod timers;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use tokio::time::Instant;

use self::backoff::ReconnectBackoff;
pub(crate) use self::dial::AuthenticatedSocket;
use self::dial::DialError;
use self::session::{Session, SessionEnd};
use self::work::ClientWork;
use crate::Error;
use crate::core::ClientCore;
use crate::limits::{STABLE_AFTER, TOKEN_TRIES};
use crate::state::{ConnectionState, Notice};

/// One attempt; for the first connection, where the caller wants to know.
pub(crate) async fn dial(core: &ClientCore) -> Result<AuthenticatedSocket, Error> {
    dial::attempt(core).await.map_err(|error| error.into_error(core))
}

/// Keeps a connection up until the client is closed or the hub refuses it for good. Wherever the future is dropped,
/// no caller is left waiting: what waits belongs to it from here on.
pub(crate) fn run(core: Arc<ClientCore>, first: Option<AuthenticatedSocket>) -> impl Future<Output = ()> + Send {
    let work = ClientWork::new(core);
    async move { keep_up(work, first).await }
}

async fn keep_up(mut work: ClientWork, first: Option<AuthenticatedSocket>) {
    let core = work.core.clone();
    let mut backoff = ReconnectBackoff::new(core.options.backoff_first, core.options.backoff_longest, core.random());
    let mut link = match first {
        Some(link) => Ok(link),
        None => keep_dialling(&mut work, &mut backoff).await,
    };
    let failure = loop {
        let connected = match link {
            Ok(link) => link,
            Err(failure) => break failure,
        };
        let began = Instant::now();
        match Session::run(&mut work, connected).await {
            SessionEnd::Done => break None,
            SessionEnd::Stop(error) => break Some(error),
            SessionEnd::Lost(reason) | SessionEnd::Malformed(reason) => {
                tracing::debug!(url = %core.url, %reason, "connection lost");
                core.teller.enter(ConnectionState::Connecting);
                core.teller.tell(Notice::Disconnected { reason });
            }
        }
        if began.elapsed() >= STABLE_AFTER {
            backoff.reset();
        }
        let wait = backoff.wait();
        link = match offline(&mut work, tokio::time::sleep(wait)).await {
            Some(()) => keep_dialling(&mut work, &mut backoff).await,
            None => Err(None),
        };
    };
    if let Some(error) = &failure {
        core.teller.tell(Notice::Closed { reason: error.to_string() });
    }
    work.finish(failure.as_ref());
}

/// Until there is a connection. The error is that of the hub's refusal, or none if the client was closed meanwhile.
async fn keep_dialling(
    work: &mut ClientWork,
    backoff: &mut ReconnectBackoff,
) -> Result<AuthenticatedSocket, Option<Error>> {
    let core = work.core.clone();
    let mut refused_tokens = 0;
    loop {
        let reason = match offline(work, dial::attempt(&core)).await {
            None => return Err(None),
            Some(Ok(link)) => return Ok(link),
            Some(Err(DialError::Unreachable(reason))) => reason,
            Some(Err(DialError::Refused(error))) => return Err(Some(error)),
            Some(Err(DialError::Token(error @ Error::Token { .. }))) => {
                core.teller.tell(Notice::TokenFailed { reason: error.to_string() });
                error.to_string()
            }
            Some(Err(DialError::Token(error))) => {
                refused_tokens += 1;
                if !core.options.token.can_refresh() || refused_tokens >= TOKEN_TRIES {
                    return Err(Some(error));
                }
                error.to_string()
            }
        };
        tracing::debug!(url = %core.url, %reason, "not connected");
        core.teller.tell(Notice::NotConnected { reason });
        if offline(work, tokio::time::sleep(backoff.wait())).await.is_none() {
            return Err(None);
        }
    }
}

/// Looks after what waits while there is no connection; `None` when the client has to end.
async fn offline<T>(work: &mut ClientWork, until: impl Future<Output = T>) -> Option<T> {
    let core = work.core.clone();
    let mut until = pin!(until);
    loop {
        let now = Instant::now();
        work.take_in();
        work.refuse_settlements();
        if work.publishes.look_at().is_some_and(|at| at <= now) {
            work.publishes.expire(now, core.options.give_up_after, "there is no connection to the hub", None);
        }
        if work.is_done_offline(now) {
            return None;
        }
        let wakes = [work.publishes.look_at(), work.closing.as_ref().map(|closing| closing.deadline)];
        let wake = wakes.into_iter().flatten().min();
        tokio::select! {
            biased;
            result = &mut until => return Some(result),
            () = core.mailbox.filled() => {}
            () = async { tokio::time::sleep_until(wake.unwrap_or(now)).await }, if wake.is_some() => {}
        }
    }
}
