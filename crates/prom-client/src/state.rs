//! What a client tells about its connection: its state, and notices of what happens.

use prom_protocol::frame::SubscriptionName;
use prom_types::Gap;
use tokio::sync::{broadcast, watch};

/// Where the connection stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Not connected; it keeps trying.
    Connecting,
    Connected,
    /// For good: closed by the application, or refused by the hub in a way that trying again cannot change.
    Closed {
        reason: String,
    },
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// `hub` names its version, `connection` is what the hub's logs call this connection.
    Connected {
        hub: String,
        connection: String,
    },
    Disconnected {
        reason: String,
    },
    /// An attempt to connect failed; the next follows.
    NotConnected {
        reason: String,
    },
    /// A subscription missed events.
    Gap {
        topic: String,
        group: Option<String>,
        gap: Gap,
    },
    /// A subscription ended, and not because the application asked for it.
    SubscriptionEnded {
        topic: String,
        group: Option<String>,
        reason: String,
    },
    /// No fresh token could be had; it is tried again.
    TokenFailed {
        reason: String,
    },
}

/// Notices as they come, from [`crate::Client::notices`]. Who falls behind loses the oldest.
pub struct Notices(broadcast::Receiver<Notice>);

/// The states a client goes through, from [`crate::Client::state_changes`].
pub struct StateChanges(watch::Receiver<State>);

/// The sending side of both.
pub(crate) struct Teller {
    state: watch::Sender<State>,
    notices: broadcast::Sender<Notice>,
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
    pub async fn next(&mut self) -> Option<State> {
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().clone())
    }
}

impl Teller {
    pub fn new() -> Self {
        Self { state: watch::Sender::new(State::Connecting), notices: broadcast::Sender::new(crate::limits::NOTICES) }
    }

    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    pub fn enter(&self, state: State) {
        self.state.send_replace(state);
    }

    /// Nobody has to listen.
    pub fn tell(&self, notice: Notice) {
        let _nobody_listens = self.notices.send(notice);
    }

    pub fn tell_gap(&self, name: &SubscriptionName, gap: &Gap) {
        self.tell(Notice::Gap { topic: name.topic.clone(), group: name.group.clone(), gap: gap.clone() });
    }

    pub fn tell_ended(&self, name: &SubscriptionName, reason: String) {
        self.tell(Notice::SubscriptionEnded { topic: name.topic.clone(), group: name.group.clone(), reason });
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
