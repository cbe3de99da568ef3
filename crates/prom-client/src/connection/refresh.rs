//! Fresh tokens over a connection that lives: AUTH again before the last one expires.

use std::future::pending;
use std::time::Duration;

use futures::future::BoxFuture;
use prom_protocol::frame::Corr;
use prom_protocol::frame::auth::Welcome;
use tokio::time::Instant;

use super::answers::Awaited;
use super::dial::auth_frame;
use super::session::Session;
use crate::Error;
use crate::core::ClientCore;
use crate::limits::{TOKEN_REFRESH_PERCENT, TOKEN_RETRY};
use crate::state::Notice;

pub(super) struct Refresh {
    due_at: Option<Instant>,
    fetching: Option<BoxFuture<'static, Result<Option<String>, Error>>>,
}

impl Refresh {
    pub fn new(core: &ClientCore, welcome: &Welcome) -> Self {
        let mut refresh = Self { due_at: None, fetching: None };
        refresh.schedule(core, welcome);
        refresh
    }

    pub fn schedule(&mut self, core: &ClientCore, welcome: &Welcome) {
        let refreshable = welcome.expires_at_ms.filter(|_| core.options.token.can_refresh());
        self.due_at = refreshable.map(|expires_at_ms| {
            let left = u64::try_from(expires_at_ms.saturating_sub(core.now_ms())).unwrap_or(0);
            // A token that lives for years would overflow nothing, but a broken number might.
            let left = Duration::from_millis(left).min(Duration::from_secs(365 * 24 * 3600));
            Instant::now() + (left * TOKEN_REFRESH_PERCENT / 100).max(TOKEN_RETRY)
        });
    }

    pub fn due_at(&self) -> Option<Instant> {
        self.due_at
    }

    /// The hub says that the token has expired.
    pub fn hurry(&mut self, core: &ClientCore) {
        if core.options.token.can_refresh() && self.fetching.is_none() {
            self.due_at = Some(Instant::now());
        }
    }

    pub fn retry_later(&mut self) {
        self.due_at = Some(Instant::now() + TOKEN_RETRY);
    }

    pub fn begin_if_due(&mut self, core: &ClientCore, now: Instant) {
        if self.due_at.is_some_and(|at| at <= now) {
            self.due_at = None;
            self.fetching = Some(core.options.token.fetch());
        }
    }

    /// Ready when a token was fetched; nothing is lost if the future is dropped.
    pub async fn fetched(&mut self) -> Result<Option<String>, Error> {
        match &mut self.fetching {
            Some(fetching) => {
                let token = fetching.await;
                self.fetching = None;
                token
            }
            None => pending().await,
        }
    }
}

impl Session<'_> {
    pub fn send_token(&mut self, token: Result<Option<String>, Error>) {
        let token = match token {
            Ok(token) => token,
            Err(error) => return self.token_failed(&error),
        };
        let auth = auth_frame(&self.work.core, token);
        let corr = Corr::number(self.answers.next_corr());
        match self.socket.text(self.frame_bytes, |out| auth.write(out, Some(&corr))) {
            Ok(()) => self.answers.wait_for(Awaited::Auth),
            Err(size) => {
                self.token_failed(&Error::TooLarge { what: "the token", size, limit: self.frame_bytes });
            }
        }
    }

    pub fn token_failed(&mut self, error: &Error) {
        tracing::warn!(%error, "no fresh token; trying again");
        self.work.core.teller.tell(Notice::TokenFailed { reason: error.to_string() });
        self.refresh.retry_later();
    }
}
