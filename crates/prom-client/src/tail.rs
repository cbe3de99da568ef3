//! Following a topic without a group: every event from a position on, no leases, no acks.

use std::sync::Arc;

use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::subscribe::SubscribeOpts;
use prom_types::TopicPattern;

use crate::assignment::AssignmentListener;
use crate::feed::{Feed, FeedKind};
use crate::mailbox::ClientCommand;
use crate::subscribe::begin;
use crate::subscription::SubscriptionControl;
use crate::{Client, Error, Gap, Position, StoredEvent};

/// A tail being put together.
#[must_use = "nothing is read until start"]
#[derive(Clone)]
pub struct TailOptions<'a> {
    client: &'a Client,
    topic: String,
    opts: SubscribeOpts,
}

/// Events of the topics it follows: in offset order within each partition.
///
/// After a lost connection it goes on where it was; no event comes twice. A slow reader makes the hub
/// pause, and loses nothing.
pub struct Tail {
    client: Client,
    feed: Arc<Feed>,
}

/// What a tail gets to hear.
#[derive(Debug)]
pub enum TailItem {
    /// The next event.
    Event(StoredEvent),
    /// Events that should have come and are gone.
    Gap(Gap),
    /// The connection was lost and the tail goes on over a new one. One that began at the latest event
    /// and has seen none yet begins at the latest again.
    Resubscribed,
}

impl Client {
    /// Follows a topic or a pattern without a group: for live views, for looking.
    ///
    /// ```no_run
    /// # async fn example(client: prom_client::Client) -> Result<(), prom_client::Error> {
    /// use prom_client::Position;
    ///
    /// let mut tail = client.tail("orders.**").from(Position::Earliest).start().await?;
    /// while let Some(event) = tail.next().await {
    ///     assert!(event.topic().starts_with("orders"));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn tail(&self, topic: &str) -> TailOptions<'_> {
        TailOptions { client: self, topic: topic.to_owned(), opts: SubscribeOpts::default() }
    }
}

impl TailOptions<'_> {
    /// Where to begin in topics that are there; [`Position::Latest`] unless said. Later ones begin at 0.
    pub fn from(mut self, position: Position) -> Self {
        self.opts.position = position.into();
        self
    }

    /// More topics or patterns.
    pub fn topics<T: Into<String>>(mut self, more: impl IntoIterator<Item = T>) -> Self {
        self.opts.topics.extend(more.into_iter().map(Into::into));
        self
    }

    /// Events come as the latest version of their topic's schema has them. What cannot be brought there comes as it is
    /// stored, and the header `x-upcast-error` says why.
    pub fn normalize(mut self) -> Self {
        self.opts.normalize = Some(true);
        self
    }

    /// Ready when the hub has agreed. While there is no connection it waits for one.
    pub async fn start(self) -> Result<Tail, Error> {
        for topic in std::iter::once(&self.topic).chain(&self.opts.topics) {
            TopicPattern::parse(topic)?;
        }
        let name = SubscriptionName::new(self.topic, None);
        let feed =
            Arc::new(Feed::new(self.client.core().next_number(), name, FeedKind::Tail, AssignmentListener::default()));
        let tail = Tail { client: self.client.clone(), feed: feed.clone() };
        begin(self.client, feed, self.opts).await?;
        Ok(tail)
    }
}

impl Tail {
    /// The next event; `None` when the tail has ended (see [`Tail::failure`]). Nothing is lost if the
    /// future is dropped.
    pub async fn next(&mut self) -> Option<StoredEvent> {
        loop {
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            if self.feed.is_ended() {
                return None;
            }
            self.feed.arrived().await;
        }
    }

    /// An event that is there already.
    pub fn try_next(&mut self) -> Option<StoredEvent> {
        let (received, after) = self.feed.take();
        after.follow(self.client.core(), &self.feed);
        received.map(|received| received.event)
    }

    /// As [`Tail::next`], with notices of gaps and lost connections among the events.
    pub async fn next_item(&mut self) -> Option<TailItem> {
        loop {
            if self.feed.take_resubscribed() {
                return Some(TailItem::Resubscribed);
            }
            if let Some(gap) = self.feed.take_gap() {
                return Some(TailItem::Gap(gap));
            }
            if let Some(event) = self.try_next() {
                return Some(TailItem::Event(event));
            }
            if self.feed.is_ended() {
                return None;
            }
            self.feed.arrived().await;
        }
    }

    /// Why it ended by itself, if it did.
    pub fn failure(&mut self) -> Option<Error> {
        self.feed.take_failure()
    }

    /// For pausing and ending it from somewhere else.
    pub fn control(&self) -> SubscriptionControl {
        SubscriptionControl::new(self.client.core().clone(), self.feed.clone())
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        self.feed.end(None);
        let command =
            ClientCommand::Unsubscribe { name: self.feed.name.clone(), number: Some(self.feed.number), reply: None };
        let _closed_before = self.client.core().mailbox.command(command);
    }
}
