//! The caller of a request, and its rights.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::header::AUTHORIZATION;
use http::request::Parts;
use parking_lot::Mutex;
use prom_auth::{Action, AuthError, Identity, Policy};
use prom_engine::{Bus, TopicMask, administered_with};
use prom_types::{GroupName, TopicName, TopicPattern};

use super::answer_share::RequestHolder;
use super::api::Api;
use super::budget::Holder;
use super::forward::{self, ForOwner};
use super::problem::{Code, Problem};
use crate::Hub;
use crate::peers::RELAY_HEADER;
use crate::rates::{Bucket, RetryAfter};

/// The bucket of the connection that a request came over. The server puts it into the request's
/// extensions, so that all requests of one connection share it.
#[derive(Clone)]
pub struct ConnectionRate(Arc<Mutex<Bucket>>);

impl ConnectionRate {
    pub fn new(bucket: Bucket) -> Self {
        Self(Arc::new(Mutex::new(bucket)))
    }
}

/// Authenticated by `Authorization: Bearer`. Any caller is let in where the hub has no auth.
pub(crate) struct Caller {
    identity: Identity,
    connection: Option<ConnectionRate>,
    is_hub: bool,
    /// The hub that asks says so of its client.
    is_masked: bool,
    for_owner: Option<ForOwner>,
}

impl FromRequestParts<Arc<Api>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Arc<Api>) -> Result<Self, Problem> {
        let header = parts.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = header.and_then(bearer);
        let peers = api.hub.peers.as_ref().filter(|_| parts.headers.contains_key(RELAY_HEADER));
        let identity = match peers {
            Some(peers) => {
                let hub = peers.authenticate(token).await?;
                Identity { subject: forward::subject_of(&parts.headers)?, ..hub }
            }
            None => api.hub.auth.authenticate(token).await?,
        };
        if let Some(holder) = parts.extensions.get::<RequestHolder>() {
            holder.set(&identity.subject);
        }
        let for_owner = parts.extensions.get::<ForOwner>().cloned();
        if let Some(for_owner) = &for_owner {
            for_owner.set_subject(identity.subject.as_deref());
        }
        let connection = parts.extensions.get::<ConnectionRate>().cloned();
        let is_masked = peers.is_some() && forward::is_masked(&parts.headers);
        Ok(Self { identity, connection, is_hub: peers.is_some(), is_masked, for_owner })
    }
}

/// Who operates a topic sees that it has dead letters, and how many; not what is in them.
fn operated(action: Action, letters: &TopicName) -> Option<TopicName> {
    if action == Action::Ops { letters.letters_of() } else { None }
}

/// The token of an `Authorization` header, if it is of that scheme.
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

impl Caller {
    /// Another hub, which asks for a client of its own.
    pub fn is_hub(&self) -> bool {
        self.is_hub
    }

    /// The subject of its token.
    pub fn subject(&self) -> Option<&str> {
        self.identity.subject.as_deref()
    }

    /// Whose bodies it sends and takes.
    pub fn holder(&self) -> &Holder {
        &self.identity.subject
    }

    pub fn policy(&self) -> &Policy {
        &self.identity.policy
    }

    /// When its token ends.
    pub fn expires_at_ms(&self) -> Option<i64> {
        self.identity.expires_at_ms
    }

    /// The bus, acting in the caller's name.
    pub fn bus(&self, hub: &Hub) -> Bus {
        hub.bus.acting_for(self.identity.subject.as_deref())
    }

    pub fn may(&self, action: Action, topic: &TopicName) -> Result<(), Problem> {
        let allows = |topic: &TopicName| self.identity.policy.allows(action, topic);
        if allows(topic) || operated(action, topic).is_some_and(|of| allows(&of)) {
            Ok(())
        } else {
            Err(self.forbidden(action, topic))
        }
    }

    pub fn may_in_group(&self, action: Action, topic: &TopicName, group: &GroupName) -> Result<(), Problem> {
        let allows = |topic: &TopicName| self.identity.policy.allows_in_group(action, topic, group);
        if allows(topic) || operated(action, topic).is_some_and(|of| allows(&of)) {
            Ok(())
        } else {
            Err(self.forbidden(action, &format!("{topic} in group {group}")))
        }
    }

    /// Everything that the pattern can match.
    pub fn may_all(&self, action: Action, pattern: &TopicPattern, group: &GroupName) -> Result<(), Problem> {
        let allows = |pattern: &TopicPattern| self.identity.policy.allows_pattern(action, pattern, Some(group));
        let operated = pattern.as_topic().and_then(|letters| operated(action, &letters));
        if allows(pattern) || operated.is_some_and(|of| allows(&of.into())) {
            Ok(())
        } else {
            Err(self.forbidden(action, &format!("{pattern} in group {group}")))
        }
    }

    /// What is hidden from the caller in the events of a topic; `None` if nothing is.
    pub async fn mask(&self, hub: &Hub, topic: &TopicName) -> Result<Option<Arc<TopicMask>>, Problem> {
        if self.sees_whole(topic) { Ok(None) } else { Ok(hub.bus.mask_of(topic).await?) }
    }

    /// Whether the caller administers a topic, and those that it has its events from.
    pub fn sees_whole(&self, topic: &TopicName) -> bool {
        let administers = |topic: &TopicName| self.identity.policy.allows(Action::Admin, topic);
        let sees_whole = !self.is_masked && administered_with(topic).iter().all(administers);
        if let Some(for_owner) = self.for_owner.as_ref().filter(|_| !sees_whole) {
            for_owner.set_masked();
        }
        sees_whole
    }

    /// The hub as a whole.
    pub fn may_everywhere(&self, action: Action) -> Result<(), Problem> {
        if self.identity.policy.allows_everywhere(action) {
            Ok(())
        } else {
            Err(self.forbidden(action, "the hub as a whole (**)"))
        }
    }

    /// Some topic, in a group or outside: what a request names is known only after its body is read.
    pub fn may_somewhere(&self, action: Action) -> Result<(), Problem> {
        if self.identity.policy.allows_somewhere(action) { Ok(()) } else { Err(self.forbidden(action, "any topic")) }
    }

    /// All topics of one segment more, such as those of a topic's versions.
    pub fn may_below(&self, action: Action, topic: &TopicName) -> Result<(), Problem> {
        let below = format!("{topic}.*");
        let allows = |pattern: TopicPattern| self.identity.policy.allows_pattern(action, &pattern, None);
        if TopicPattern::parse(&below).is_ok_and(allows) { Ok(()) } else { Err(self.forbidden(action, &below)) }
    }

    /// The refusal of an action on something that the text names.
    pub fn forbidden(&self, action: Action, what: &str) -> Problem {
        let who = self.identity.subject.as_deref().unwrap_or("this caller");
        let detail = format!("{who} lacks the right `{action}` on {what}; use a token whose scopes or policy allow it");
        Problem::new(Code::Forbidden, detail)
    }

    /// Whether the token is still valid. Long requests check it repeatedly.
    pub fn is_still_let_in(&self, hub: &Hub) -> Result<(), AuthError> {
        match self.identity.expires_at_ms {
            Some(expires_at_ms) if expires_at_ms <= hub.clock.now_ms() => Err(AuthError::Expired),
            _ => Ok(()),
        }
    }

    /// Takes from the buckets of the connection, the topic and the subject: from all or from none.
    pub fn take_rate(&self, hub: &Hub, topic: &TopicName, count: usize) -> Result<(), RetryAfter> {
        self.take_rates(hub, &[(topic, count)])
    }

    /// As [`Caller::take_rate`] for several topics: from all of their buckets too, or from none.
    pub fn take_rates(&self, hub: &Hub, topics: &[(&str, usize)]) -> Result<(), RetryAfter> {
        self.try_take_rates(hub, topics).inspect_err(|_| hub.rates.count_refused())
    }

    fn try_take_rates(&self, hub: &Hub, topics: &[(&str, usize)]) -> Result<(), RetryAfter> {
        let now = hub.clock.monotonic();
        let all = topics.iter().map(|(_, count)| count).sum();
        if let Some(connection) = &self.connection {
            connection.0.lock().take(all, now)?;
        }
        let taken = hub.rates.take_all(topics, self.identity.subject.as_deref(), now);
        if let (Err(_), Some(connection)) = (&taken, &self.connection) {
            connection.0.lock().give_back(all);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bearer_token_is_a_token() {
        for (header, token) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Basic abc", None),
            ("Bearer ", None),
            ("Bearer", None),
            ("", None),
        ] {
            assert_eq!(bearer(header), token, "{header:?}");
        }
    }
}
