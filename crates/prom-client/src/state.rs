//! What a client tells about its connection: its state, and notices of what happens.

use std::time::Duration;

use prom_protocol::frame::SubscriptionName;
use prom_types::{EventId, Gap};
use tokio::sync::{broadcast, watch};

use crate::warn::Warner;

/// Where the connection stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionState {
    /// Not connected; it keeps trying.
    Connecting,
    /// The hub has let the client in.
    Connected,
    /// For good: closed by the application, or refused by the hub in a way that trying again cannot change.
    Closed {
        /// Why, for people.
        reason: String,
    },
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The hub has let the client in.
    Connected {
        /// The hub's name and version.
        hub: String,
        /// What the hub's logs call this connection.
        connection: String,
    },
    /// The connection was lost.
    Disconnected {
        /// Why, for people.
        reason: String,
    },
    /// An attempt to connect failed; the next follows.
    NotConnected {
        /// Why, for people.
        reason: String,
    },
    /// A subscription missed events.
    Gap {
        /// The topic or pattern of the subscription.
        topic: String,
        /// Its group; none for a tail.
        group: Option<String>,
        /// What is missing.
        gap: Gap,
    },
    /// A subscription ended, and not because the application asked for it.
    SubscriptionEnded {
        /// The topic or pattern of the subscription.
        topic: String,
        /// Its group; none for a tail.
        group: Option<String>,
        /// Why, for people.
        reason: String,
    },
    /// The group has another value than this subscriber asked for, and the group's counts.
    OptionDiffers {
        /// The topic or pattern of the subscription.
        topic: String,
        /// Its group.
        group: Option<String>,
        /// Which option, and both values; for people.
        note: String,
    },
    /// A handler of [`crate::Subscribe::run`] failed or panicked; the event was nacked.
    HandlerFailed {
        /// The topic or pattern of the subscription.
        topic: String,
        /// Its group.
        group: String,
        /// The event.
        event: EventId,
        /// What the handler said.
        reason: String,
    },
    /// Publishes exceed the hub's rate limit. They are sent again, in order, when it takes them. Told at most once a second.
    PublishingSlowed {
        /// What the hub said.
        reason: String,
        /// When they are sent again.
        retry_in: Duration,
    },
    /// No fresh token could be had; it is tried again.
    TokenFailed {
        /// Why, for people.
        reason: String,
    },
    /// The hub refused the client for good. Closing it yourself is not told.
    Closed {
        /// Why, for people.
        reason: String,
    },
}

/// Notices as they come, from [`crate::Client::notices`]. A listener that falls behind loses the oldest.
pub struct Notices(broadcast::Receiver<Notice>);

/// The states a client goes through, from [`crate::Client::state_changes`].
pub struct StateChanges(watch::Receiver<ConnectionState>);

/// The sending side of both. Trouble that no listener hears of is a warning of `tracing`.
pub(crate) struct Teller {
    state: watch::Sender<ConnectionState>,
    notices: broadcast::Sender<Notice>,
    warner: Warner,
}

impl Notices {
    /// The next one; `None` when the client is gone.
    pub async fn next(&mut self) -> Option<Notice> {
        loop {
            match self.0.recv().await {
                Ok(notice) => return Some(notice),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

impl StateChanges {
    /// Waits for a state that was not seen yet, the present one first; `None` when the client is gone.
    pub async fn next(&mut self) -> Option<ConnectionState> {
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().clone())
    }
}

impl Teller {
    pub fn new() -> Self {
        Self {
            state: watch::Sender::new(ConnectionState::Connecting),
            notices: broadcast::Sender::new(crate::limits::NOTICES),
            warner: Warner::default(),
        }
    }

    pub fn state(&self) -> ConnectionState {
        self.state.borrow().clone()
    }

    pub fn enter(&self, state: ConnectionState) {
        self.state.send_replace(state);
    }

    /// Warns where there is no listener.
    pub fn tell(&self, notice: Notice) {
        if let Err(broadcast::error::SendError(unheard)) = self.notices.send(notice) {
            self.warner.hear(&unheard);
        }
    }

    pub fn tell_gap(&self, name: &SubscriptionName, gap: &Gap) {
        self.tell(Notice::Gap { topic: name.topic.clone(), group: name.group.clone(), gap: gap.clone() });
    }

    pub fn tell_ended(&self, name: &SubscriptionName, reason: String) {
        self.tell(Notice::SubscriptionEnded { topic: name.topic.clone(), group: name.group.clone(), reason });
    }

    pub fn tell_failed(&self, name: &SubscriptionName, event: EventId, reason: String) {
        let (topic, group) = (name.topic.clone(), name.group.clone().unwrap_or_default());
        self.tell(Notice::HandlerFailed { topic, group, event, reason });
    }

    pub fn notices(&self) -> Notices {
        Notices(self.notices.subscribe())
    }

    pub fn state_changes(&self) -> StateChanges {
        let mut changes = self.state.subscribe();
        changes.mark_changed();
        StateChanges(changes)
    }
}
