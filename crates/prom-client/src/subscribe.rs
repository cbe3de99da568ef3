//! Subscribing with a group: what is asked for.

use std::sync::Arc;
use std::time::Duration;

use prom_protocol::frame::SubscriptionName;
use prom_protocol::frame::assignment::Assignment;
use prom_protocol::frame::subscribe::SubscribeOpts;
use prom_types::{Backoff, GroupName, Mode, Order, TopicPattern};
use tokio::sync::oneshot;

use crate::assignment::{AssignmentItems, AssignmentListener};
use crate::client::ended;
use crate::feed::{Feed, FeedKind};
use crate::limits;
use crate::mailbox::{ClientCommand, NewSubscription};
use crate::subscription::Subscription;
use crate::window::Window;
use crate::{Client, Error, Position};

/// A subscription being put together: [`Subscribe::start`] gives a handle to read from,
/// [`Subscribe::run`] calls a handler.
#[must_use = "nothing is subscribed to until start or run"]
#[derive(Clone)]
pub struct Subscribe<'a> {
    client: &'a Client,
    topic: String,
    group: String,
    opts: SubscribeOpts,
    listener: AssignmentListener,
    pub(crate) handling: Handling,
}

/// How a handler is run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handling {
    pub concurrency: usize,
    pub settling: SettledBy,
}

/// How deliveries are taken.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Taking {
    Handlers(Handling),
    Loop,
}

/// Who settles what a handler is done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettledBy {
    Result,
    Handler,
}

impl Client {
    /// Subscribes a group to a topic or a pattern. The subscribers of a group share its events.
    ///
    /// The first subscriber makes the group and decides its options; later ones agree with them or
    /// say nothing. The topic need not exist yet; what comes later is read from its beginning.
    ///
    /// ```no_run
    /// # async fn example(client: prom_client::Client) -> Result<(), prom_client::Error> {
    /// use prom_client::{Order, Position};
    ///
    /// let mut orders = client
    ///     .subscribe("orders.*", "billing")
    ///     .from(Position::Earliest)
    ///     .order(Order::Key)
    ///     .start()
    ///     .await?;
    /// while let Some(delivery) = orders.next().await {
    ///     delivery.ack().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn subscribe(&self, topic: &str, group: &str) -> Subscribe<'_> {
        Subscribe {
            client: self,
            topic: topic.to_owned(),
            group: group.to_owned(),
            opts: SubscribeOpts::default(),
            listener: AssignmentListener::default(),
            handling: Handling { concurrency: 1, settling: SettledBy::Result },
        }
    }
}

impl Subscribe<'_> {
    /// More topics or patterns.
    pub fn topics<T: Into<String>>(mut self, more: impl IntoIterator<Item = T>) -> Self {
        self.opts.topics.extend(more.into_iter().map(Into::into));
        self
    }

    // Of the group.

    /// Where a new group begins; [`Position::Latest`] unless said.
    pub fn from(mut self, position: Position) -> Self {
        self.opts.position = position.into();
        self
    }

    /// [`Order::Key`]: no event of a key while an earlier one of that key is unsettled.
    pub fn order(mut self, order: Order) -> Self {
        self.opts.order = Some(order);
        self
    }

    /// A key stops when its event goes to the dead letters, and its later events follow it there until they are given back;
    /// other keys go on. Only with [`Order::Key`] or [`Mode::Partitioned`].
    pub fn park(mut self) -> Self {
        self.opts.park = Some(true);
        self
    }

    /// How the events of the group are divided among its subscribers: [`Mode::Partitioned`] gives each
    /// partition one owner, who gets its events in order.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.opts.mode = Some(mode);
        self
    }

    /// Divides topics of one partition into this many for this group, each with one owner.
    pub fn partitions(mut self, partitions: u32) -> Self {
        self.opts.partitions = Some(partitions);
        self
    }

    /// A jq program over the whole event; what it does not let through counts as settled.
    pub fn filter(mut self, program: impl Into<String>) -> Self {
        self.opts.filter = Some(program.into());
        self
    }

    /// Failed attempts before an event goes to the dead letters; the topic's setting, else 5.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.opts.max_attempts = Some(attempts);
        self
    }

    /// The wait after the first failure, doubling to the longest; 200 ms and 30 s unless said.
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.opts.backoff = Some(Backoff::new(first, longest));
        self
    }

    /// Deletes the group when it had no subscriber for this long.
    pub fn expire_after(mut self, unused: Duration) -> Self {
        self.opts.expire_after = Some(millis(unused));
        self
    }

    // Of this subscriber.

    /// Events sent at once; 100 unless said.
    pub fn batch_size(mut self, events: usize) -> Self {
        self.opts.batch_size = Some(events);
        self
    }

    /// Events leased to this subscriber at any time, over all its topics. That many may wait here for the application;
    /// their leases are renewed meanwhile, and other subscribers cannot get them. Unless said it is as many as the
    /// handlers of [`Subscribe::run`] run and work off in a tenth of a second, or a loop over [`Subscription::next`]
    /// does; 1000 for handlers that settle events themselves and for owners of partitions.
    pub fn max_in_flight(mut self, events: usize) -> Self {
        self.opts.max_in_flight = Some(events);
        self
    }

    /// How long a lease lasts without being renewed; 90 s unless said. At least half of it is left when
    /// the application takes a delivery.
    pub fn ack_timeout(mut self, timeout: Duration) -> Self {
        self.opts.ack_timeout_ms = Some(millis(timeout));
        self
    }

    /// Events come as the latest version of their topic's schema has them; the header `x-upcasted-from` names the version
    /// of those that were stored with an older one. What cannot be brought there goes to the dead letters with the reason.
    pub fn normalize(mut self) -> Self {
        self.opts.normalize = Some(true);
        self
    }

    /// A name that people see when they ask who holds an event. Partitions tend to come back to a member
    /// that comes back under its name.
    pub fn member_id(mut self, member: impl Into<String>) -> Self {
        self.opts.member_id = Some(member.into());
        self
    }

    /// What people see beside the name.
    pub fn meta(mut self, meta: serde_json::Value) -> Self {
        self.opts.meta = Some(meta);
        self
    }

    /// Its share of the partitions in relation to other members, 1 unless said; 0 gets only what it pins,
    /// as long as others take the rest.
    pub fn weight(mut self, weight: u32) -> Self {
        self.opts.weight = Some(weight);
        self
    }

    /// Partitions that go to this subscriber as long as it lives, whatever the balance.
    pub fn pin(mut self, partitions: impl IntoIterator<Item = u32>) -> Self {
        self.opts.pin.extend(partitions);
        self
    }

    /// How long the hub may hear nothing of this client, not even answers to its pings, before the
    /// partitions go to others; 15 s unless said. Handlers do not hold up those answers.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.opts.ttl_ms = Some(millis(ttl));
        self
    }

    /// Called when partitions come, before the first of their events; must not block.
    pub fn on_assigned(mut self, callback: impl Fn(&Assignment) + Send + Sync + 'static) -> Self {
        self.listener.on_assigned = Some(Arc::new(callback));
        self
    }

    /// Called when partitions go, also with the connection and with the subscription; must not block.
    pub fn on_revoked(mut self, callback: impl Fn(&Assignment) + Send + Sync + 'static) -> Self {
        self.listener.on_revoked = Some(Arc::new(callback));
        self
    }

    /// Lets [`Subscription::next_item`] tell which partitions come and go.
    pub fn tell_assignments(mut self) -> Self {
        self.listener.items = AssignmentItems::Yes;
        self
    }

    /// Joins the group; ready when the hub has agreed. While there is no connection it waits for one.
    pub async fn start(self) -> Result<Subscription, Error> {
        self.start_for(Taking::Loop).await
    }

    pub(crate) async fn start_for(mut self, taking: Taking) -> Result<Subscription, Error> {
        if self.listener.wants_any() {
            self.opts.assignments = Some(true);
        }
        let group = GroupName::parse(&self.group)?;
        for topic in std::iter::once(&self.topic).chain(&self.opts.topics) {
            TopicPattern::parse(topic)?;
        }
        let core = self.client.core();
        let ack_timeout = self.opts.ack_timeout_ms.map_or(limits::WAITING_LEASE, Duration::from_millis);
        self.opts.ack_timeout_ms = Some(millis(ack_timeout));
        let handlers = match taking {
            Taking::Handlers(Handling { concurrency, settling: SettledBy::Result }) => Some(concurrency),
            Taking::Handlers(_) | Taking::Loop => None,
        };
        let kind = FeedKind::Group { window: self.window(taking), ack_timeout, handlers };
        let name = SubscriptionName::new(self.topic, Some(&group));
        let feed = Arc::new(Feed::new(core.next_number(), name, kind, self.listener));
        let subscription = Subscription::new(self.client.clone(), feed.clone());
        begin(self.client, feed, self.opts).await?;
        Ok(subscription)
    }
}

impl Subscribe<'_> {
    /// What the application settles in its own time, and partitions that no other member can work on, come with the window
    /// that the hub has where nothing is said.
    fn window(&self, taking: Taking) -> Window {
        let owns_partitions = self.opts.mode == Some(Mode::Partitioned) || self.opts.partitions.is_some();
        match (self.opts.max_in_flight, taking) {
            (Some(events), _) => Window::told(events),
            _ if owns_partitions || self.listener.wants_any() => Window::told(limits::MAX_IN_FLIGHT),
            (None, Taking::Handlers(Handling { concurrency, settling: SettledBy::Result })) => {
                Window::of_handlers(concurrency)
            }
            (None, Taking::Handlers(_)) => Window::told(limits::MAX_IN_FLIGHT),
            (None, Taking::Loop) => Window::of_a_loop(),
        }
    }
}

/// Ready when the hub has agreed.
pub(crate) async fn begin(client: &Client, feed: Arc<Feed>, opts: SubscribeOpts) -> Result<(), Error> {
    let (reply, answer) = oneshot::channel();
    client.core().mailbox.command(ClientCommand::Subscribe(Box::new(NewSubscription { feed, opts, reply })))?;
    answer.await.unwrap_or_else(|_| Err(ended()))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
