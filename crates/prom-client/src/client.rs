//! The handle: connect, look at the state, close.

use std::sync::Arc;

use prom_protocol::frame::SubscriptionName;
use tokio::sync::oneshot;

use crate::core::ClientCore;
use crate::mailbox::ClientCommand;
use crate::state::{ConnectionState, Notices, StateChanges};
use crate::url::{HubUrl, Transport};
use crate::{ClientOptions, Error, connection};

/// A connection to a hub that is kept up. Cloning costs a reference count.
///
/// Dropping the last handle closes the connection after what is under way has been answered;
/// [`Client::close`] waits for that.
#[derive(Clone)]
pub struct Client {
    handle: Arc<Handle>,
}

struct Handle {
    core: Arc<ClientCore>,
}

impl Client {
    /// Connects: an error here means that there is no hub, or that it does not let us in. A connection
    /// that is lost later is made again, for as long as the client lives.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), prom_client::Error> {
    /// use prom_client::{Client, ClientOptions, json};
    ///
    /// let client = Client::connect("http://127.0.0.1:8090", ClientOptions::default()).await?;
    /// let receipt = client.publish("orders.placed", json!({"id": 7})).key("7").await?;
    /// assert_eq!(receipt.partition, 0);
    /// client.close().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect(url: &str, options: ClientOptions) -> Result<Self, Error> {
        let core = prepare(url, options)?;
        let link = connection::dial(&core).await?;
        Ok(Self::run(core, Some(link)))
    }

    /// Connects in the background and keeps trying; what is published meanwhile waits. Needs a tokio
    /// runtime around it.
    pub fn connect_in_background(url: &str, options: ClientOptions) -> Result<Self, Error> {
        Ok(Self::run(prepare(url, options)?, None))
    }

    fn run(core: Arc<ClientCore>, link: Option<connection::AuthenticatedSocket>) -> Self {
        if link.is_some() {
            core.teller.enter(ConnectionState::Connected);
        }
        tokio::spawn(connection::run(core.clone(), link));
        Self { handle: Arc::new(Handle { core }) }
    }

    /// Where the connection stands.
    pub fn state(&self) -> ConnectionState {
        self.core().teller.state()
    }

    /// For waiting until the state changes.
    pub fn state_changes(&self) -> StateChanges {
        self.core().teller.state_changes()
    }

    /// What happens from now on: connects, disconnects, gaps.
    pub fn notices(&self) -> Notices {
        self.core().teller.notices()
    }

    /// Ends a subscription of this client from anywhere; its leases are given back at once.
    pub async fn unsubscribe(&self, topic: &str, group: &str) -> Result<(), Error> {
        let name = SubscriptionName::new(topic, Some(group));
        let (reply, answer) = oneshot::channel();
        self.core().mailbox.command(ClientCommand::Unsubscribe { name, number: None, reply: Some(reply) })?;
        answer.await.unwrap_or_else(|_| Err(ended()))
    }

    /// Takes nothing new, waits until publishes are answered and handlers are done, and closes the
    /// connection; after [`ClientOptions::drain_timeout`] at the latest.
    pub async fn close(&self) {
        self.core().mailbox.closing();
        let (reply, answer) = oneshot::channel();
        if self.core().mailbox.command(ClientCommand::Close { reply: Some(reply) }).is_ok() {
            let _ended_either_way = answer.await;
        }
    }

    pub(crate) fn core(&self) -> &Arc<ClientCore> {
        &self.handle.core
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.core.mailbox.closing();
        let _closed_before = self.core.mailbox.command(ClientCommand::Close { reply: None });
    }
}

fn prepare(url: &str, options: ClientOptions) -> Result<Arc<ClientCore>, Error> {
    let url = HubUrl::parse(url)?;
    let tls = match url.transport {
        Transport::Plain => None,
        Transport::Tls => Some(connection::tls::connector(options.extra_ca.as_deref())?),
    };
    Ok(ClientCore::new(url, options, tls))
}

/// The task has ended without an answer: its runtime was shut down.
pub(crate) fn ended() -> Error {
    Error::closed("the connection's task has ended")
}
