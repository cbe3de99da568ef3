//! AUTH: who the connection speaks for. The first frame, and again whenever the client has a new token.

use prom_auth::Identity;
use prom_protocol::frame::auth::{Auth, BATCH, ORDERED, RELAY, Welcome};
use prom_protocol::frame::err::Problem;
use prom_protocol::{Corr, ErrorCode};

use super::burst::{AwaitedAnswer, FrameReply};
use super::connection::{Connection, Speaker};
use super::outbox::frame;
use super::sight::Sight;
use super::subscribe::{forbidden, may_subscribe};
use crate::rates::Resends;
use crate::{Hub, problem};

/// Whether the token was one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenAccepted {
    Yes,
    No,
}

impl Connection {
    pub(super) async fn auth(&mut self, corr: Option<Corr>, auth: Auth<'_>) -> TokenAccepted {
        let (known, reply) = match self.authenticate(&auth).await {
            Ok(welcome) => (TokenAccepted::Yes, FrameReply::Welcome(Box::new(welcome))),
            Err(problem) => (TokenAccepted::No, FrameReply::Err(problem)),
        };
        self.burst.answer(corr, AwaitedAnswer::Ready(reply));
        known
    }

    async fn authenticate(&mut self, auth: &Auth<'_>) -> Result<Welcome, Problem> {
        let (identity, speaker) = judge(&self.hub, auth).await?;
        if let Some(before) = &self.identity
            && before.subject != identity.subject
        {
            let msg = "this connection belongs to another subject; open a new connection";
            return Err(Problem::new(ErrorCode::Forbidden, msg));
        }
        if self.identity.is_some() && speaker != self.speaker {
            let msg = "hubs and clients do not share a connection; open a new connection";
            return Err(Problem::new(ErrorCode::Forbidden, msg));
        }
        self.speaker = speaker;
        if self.identity.is_none() {
            // What was agreed on at first holds: subscriptions depend on it.
            let asks_for = |wanted: &str| auth.features.iter().any(|feature| feature == wanted);
            self.batches = asks_for(BATCH);
            self.resends = if asks_for(ORDERED) { Resends::Yes } else { Resends::No };
        }
        self.topics.forget();
        self.pulse.authenticated(identity.expires_at_ms);
        self.end_forbidden(&identity);
        let welcome = Welcome {
            hub: concat!("prom/", env!("CARGO_PKG_VERSION")).to_owned(),
            features: self.features(),
            frame_bytes: self.hub.options.frame_bytes,
            connection: self.name.clone(),
            subject: identity.subject.as_deref().map(str::to_owned),
            expires_at_ms: identity.expires_at_ms,
        };
        self.listing.entry.authenticated(&identity, self.speaker);
        self.identity = Some(identity);
        Ok(welcome)
    }

    fn features(&self) -> Vec<String> {
        let batch = self.batches.then_some(BATCH);
        let ordered = (self.resends == Resends::Yes).then_some(ORDERED);
        batch.into_iter().chain(ordered).map(str::to_owned).collect()
    }

    /// Subscriptions that the new rights do not cover end, as do those that see more than they would see now. Their client is
    /// told, and may subscribe again.
    fn end_forbidden(&mut self, identity: &Identity) {
        let outbox = &self.outbox;
        self.subscriptions.retain(|name, subscribed| {
            let group = subscribed.in_group().map(|in_group| &in_group.group);
            let sees_less = subscribed.sight == Sight::Whole
                && Sight::of(&identity.policy, &subscribed.patterns, group) == Sight::Masked;
            let allowed = !sees_less && may_subscribe(&identity.policy, &subscribed.patterns, group);
            if !allowed {
                subscribed.end();
                let problem = forbidden(&subscribed.patterns, group);
                outbox.put(|out| frame(out, |out| problem.write_for(out, name)));
            }
            allowed
        });
    }
}

/// A hub that speaks for its client has a token of another kind.
async fn judge(hub: &Hub, auth: &Auth<'_>) -> Result<(Identity, Speaker), Problem> {
    let token = auth.token.as_deref();
    let is_relay = auth.features.iter().any(|feature| feature == RELAY);
    let (identity, speaker) = match &hub.peers {
        Some(peers) if is_relay => (peers.authenticate(token).await, Speaker::Hub),
        _ => (hub.auth.authenticate(token).await, Speaker::Client),
    };
    identity.map(|identity| (identity, speaker)).map_err(|error| problem::of_auth(&error))
}
