//! Subscribing: from the wish to a running subscription, and keeping it attached to new topics.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use prom_types::{GroupName, TopicPattern};

use crate::bus::{BusPhase, Core};
use crate::group::{Group, GroupOptions, RequestedOptions};
use crate::outlet::{EventForm, Outlet, SubscriberOptions, TellAssignments};
use crate::subscription::Subscription;
use crate::topic::Topic;
use crate::{Backoff, Bus, Error, Mode, Order, Position, limits};

/// A subscription being put together: [`Subscribe::start`] gives a handle to read from,
/// [`Subscribe::run`] calls a handler.
#[must_use = "nothing is subscribed to until start or run"]
#[derive(Clone)]
pub struct Subscribe<'a> {
    pub(crate) bus: &'a Bus,
    topics: Vec<String>,
    group: String,
    asked: RequestedOptions,
    options: SubscriberOptions,
    pub(crate) handling: Handling,
}

/// How a handler is run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handling {
    pub concurrency: usize,
    pub settling: HandlerSettling,
}

/// Who settles what a handler is done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandlerSettling {
    ByResult,
    ByHandler,
}

impl Bus {
    /// Subscribes a group to a topic or a pattern. The subscribers of a group share its events.
    ///
    /// The first subscriber makes the group and decides its options; later ones agree with them or
    /// say nothing. The topic need not exist yet; what comes later is read from its beginning.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), prom_engine::Error> {
    /// # let store = std::sync::Arc::new(prom_store::MemoryStore::new(std::sync::Arc::new(prom_store::SystemClock::new())));
    /// # let bus = prom_engine::Bus::start(store, Default::default()).await?;
    /// use prom_engine::{Order, Position};
    /// use serde_json::json;
    ///
    /// bus.publish("orders.placed", json!({"id": 7})).key("7").await?;
    /// let mut orders = bus
    ///     .subscribe("orders.*", "billing")
    ///     .from(Position::Earliest)
    ///     .order(Order::Key)
    ///     .max_in_flight(500)
    ///     .start()
    ///     .await?;
    /// if let Some(delivery) = orders.next().await {
    ///     assert_eq!(delivery.key(), Some("7"));
    ///     delivery.ack().await?;
    /// }
    /// orders.unsubscribe().await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn subscribe(&self, topic: &str, group: &str) -> Subscribe<'_> {
        Subscribe {
            bus: self,
            topics: vec![topic.to_owned()],
            group: group.to_owned(),
            asked: RequestedOptions::default(),
            options: SubscriberOptions::default(),
            handling: Handling { concurrency: 1, settling: HandlerSettling::ByResult },
        }
    }
}

impl Subscribe<'_> {
    /// More topics or patterns; a hundred with the first.
    pub fn topics<T: Into<String>>(mut self, more: impl IntoIterator<Item = T>) -> Self {
        self.topics.extend(more.into_iter().map(Into::into));
        self
    }

    // Of the group.

    /// Where a new group begins; [`Position::Latest`] unless said.
    pub fn from(mut self, position: Position) -> Self {
        self.asked.from = Some(position);
        self
    }

    /// [`Mode::Partitioned`]: each partition of a topic has one owner among the subscribers, who gets its
    /// events in order; partitions move when subscribers come and go.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.asked.mode = Some(mode);
        self
    }

    /// Divides topics of one partition into this many for this group, by the hash of the key (else the
    /// id), each with one owner; they are settled in the topic's one cursor. Up to 1024.
    pub fn partitions(mut self, partitions: u32) -> Self {
        self.asked.partitions = Some(partitions);
        self
    }

    /// [`Order::Key`]: no event of a key while an earlier one of that key is unsettled.
    pub fn order(mut self, order: Order) -> Self {
        self.asked.order = Some(order);
        self
    }

    /// A key stops when its event goes to the dead letters: its later events follow it there, in order, until they are given
    /// back ([`Bus::give_back`]), while other keys go on. Only with [`Order::Key`], which [`Mode::Partitioned`] implies here.
    pub fn park(mut self) -> Self {
        self.asked.park = Some(true);
        self
    }

    /// A jq program over the whole event; what it does not let through counts as settled.
    pub fn filter(mut self, program: impl Into<String>) -> Self {
        self.asked.filter = Some(program.into());
        self
    }

    /// Failed attempts before an event goes to the dead letters; the topic's setting, else 5.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.asked.max_attempts = Some(attempts);
        self
    }

    /// The wait after the first failure, doubling to the longest; 200 ms and 30 s unless said.
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.asked.backoff = Some(Backoff::new(first, longest));
        self
    }

    /// Deletes the group after this time without a subscriber.
    pub fn expire_after(mut self, unused: Duration) -> Self {
        self.asked.expire_after = Some(unused);
        self
    }

    // Of this subscriber.

    /// Events handed over at once; 100 unless said.
    pub fn batch_size(mut self, events: usize) -> Self {
        self.options.batch_size = events;
        self
    }

    /// Events leased to this subscriber at any time, over all its topics; 1000 unless said.
    pub fn max_in_flight(mut self, events: usize) -> Self {
        self.options.max_in_flight = events;
        self
    }

    /// How long the application has for a delivery without renewing it; 30 s unless said.
    ///
    /// The time begins when the delivery is taken from the subscription; when it is over, that is a
    /// failed attempt. Deliveries that wait in the subscription to be taken cost no attempt, however
    /// slow the application is: those that wait longer are withdrawn and offered to others, and
    /// to this subscriber again when it next asks for a delivery. (What is taken within a tenth of
    /// the time after it came keeps the deadline it came with.)
    pub fn ack_timeout(mut self, timeout: Duration) -> Self {
        self.options.ack_timeout = timeout;
        self
    }

    /// A name that people see when they ask who holds an event. Partitions tend to come back to a member
    /// that comes back under its name.
    pub fn member_id(mut self, member: impl Into<String>) -> Self {
        self.options.member = Some(member.into());
        self
    }

    /// Whose it is and where it comes from, for people who look at the members of a group.
    pub fn origin(mut self, subject: Option<String>, address: Option<String>) -> Self {
        (self.options.subject, self.options.address) = (subject, address);
        self
    }

    /// What people see beside the name: any JSON, up to 4 KiB of text.
    pub fn meta(mut self, meta: &serde_json::Value) -> Self {
        self.options.meta = Some(meta.to_string());
        self
    }

    /// Its share of the partitions in relation to other members, 1 unless said; 0 gets only what it
    /// pins, as long as others take the rest.
    pub fn weight(mut self, weight: u32) -> Self {
        self.options.weight = weight;
        self
    }

    /// Partitions that go to this subscriber as long as it lives, whatever the balance.
    pub fn pin(mut self, partitions: impl IntoIterator<Item = u32>) -> Self {
        self.options.pins.extend(partitions);
        self
    }

    /// Its partitions go to others when [`SubscriptionControl::heartbeat`] was not called for this time.
    /// Without it a subscriber owns them until it ends.
    ///
    /// [`SubscriptionControl::heartbeat`]: crate::SubscriptionControl::heartbeat
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.options.ttl = Some(ttl);
        self
    }

    /// Lets [`Subscription::next_arrivals`] and [`Subscription::next_item`] tell which partitions come
    /// and go.
    pub fn tell_assignments(mut self) -> Self {
        self.options.assignments = TellAssignments::Yes;
        self
    }

    /// Events come as the latest version of their topic's schema has them: upcast and checked. What cannot be brought there
    /// goes to the dead letters with the reason.
    pub fn normalize(mut self) -> Self {
        self.options.form = EventForm::Normalized;
        self
    }

    /// Joins the group and starts handing out.
    pub async fn start(mut self) -> Result<Subscription, Error> {
        let core = self.bus.core();
        core.check_open()?;
        let name = GroupName::parse(&self.group)?;
        check_topics(self.topics.len())?;
        let mut topics = Vec::with_capacity(self.topics.len());
        for topic in &self.topics {
            topics.push(TopicPattern::parse(topic)?);
        }
        topics.sort_unstable();
        topics.dedup();
        self.asked.check()?;
        check_options(&self.options)?;
        if let Some(filter) = &self.asked.filter {
            // A group that does not run yet may be refused below, and leaves nothing then.
            match core.groups.known(&name) {
                Some(group) => core.filter_places.compile_for(&group.filters, filter).await?,
                None => core.filter_places.compile(filter).await?,
            };
        }
        core.topics.find_named(&*core.store, &topics).await?;
        core.check_division(&topics, self.asked.partitions)?;
        core.own(&name).await?;
        let options = Arc::new(core.join_group(&name, &topics, &self.asked, self.bus.maker()).await?);
        if options.mode == Mode::Shared {
            // Only owners have something to lose by falling silent.
            self.options.ttl = None;
        }
        self.options.since_ms = core.clock.now_ms();
        let live = Arc::new(LiveSubscription {
            outlet: Arc::new(Outlet::new(core.next_subscriber(), self.options, core.hub_life(), &core.delivery_memory)),
            group: core.groups.get(&name),
            topics,
            options,
        });
        live.outlet.heartbeat(core.clock.monotonic());
        core.followers.add(&live);
        // After it follows new topics, so that none is missed in between.
        let there = core.topics.matching(&live.topics);
        there.iter().for_each(|topic| live.attach(core, topic));
        if core.phase() != BusPhase::Open {
            live.outlet.end();
        }
        let differences = self.asked.differences(&live.options);
        Ok(Subscription::new(self.bus.clone(), live, differences))
    }
}

pub(crate) fn check_topics(named: usize) -> Result<(), Error> {
    if named > limits::TOPICS_OF_SUBSCRIPTION {
        Err(Error::BadOption {
            option: "topics",
            asked: format!("a list of {named}"),
            reason: "a subscription names at most 100 topics and patterns; use a pattern that covers them",
        })
    } else {
        Ok(())
    }
}

fn check_member(options: &SubscriberOptions) -> Result<(), Error> {
    let refuse = |option, asked: String, reason| Err(Error::BadOption { option, asked, reason });
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    if options.member.as_deref() == Some("") || length(&options.member) > limits::MEMBER_ID_BYTES {
        let asked = format!("{} bytes long", length(&options.member));
        return refuse("member_id", asked, "it has between 1 and 256 bytes");
    }
    if length(&options.meta) > limits::MEMBER_META_BYTES {
        let asked = format!("{} bytes long", length(&options.meta));
        return refuse("meta", asked, "it has at most 4096 bytes of JSON");
    }
    if options.weight > limits::LARGEST_WEIGHT {
        return refuse("weight", options.weight.to_string(), "it is between 0 and 1000");
    }
    if options.pins.len() > prom_types::limits::PARTITIONS as usize {
        return refuse("pin", format!("a list of {}", options.pins.len()), "a topic has at most 4096 partitions");
    }
    match options.ttl {
        Some(ttl) if !(limits::SHORTEST_MEMBER_TTL..=limits::LONGEST_MEMBER_TTL).contains(&ttl) => {
            refuse("ttl", format!("{ttl:?}"), "it is between 300 ms and 10 min")
        }
        _ => Ok(()),
    }
}

fn check_options(options: &SubscriberOptions) -> Result<(), Error> {
    let refuse = |option, asked: String, reason| Err(Error::BadOption { option, asked, reason });
    check_member(options)?;
    if options.batch_size == 0 {
        return refuse("batch_size", "0".to_owned(), "a batch has at least one event");
    }
    check_max_in_flight(options.max_in_flight)?;
    if options.ack_timeout < limits::SHORTEST_ACK_TIMEOUT || options.ack_timeout > limits::LONGEST_ACK_TIMEOUT {
        let asked = format!("{:?}", options.ack_timeout);
        return refuse("ack_timeout", asked, "it is between 10 ms and 24 h");
    }
    Ok(())
}

pub(crate) fn check_max_in_flight(events: usize) -> Result<(), Error> {
    if (1..=limits::LARGEST_IN_FLIGHT).contains(&events) {
        return Ok(());
    }
    let reason = "it is between 1 and 1 000 000";
    Err(Error::BadOption { option: "max_in_flight", asked: events.to_string(), reason })
}

/// A running subscription, as far as attaching it to topics goes.
pub(crate) struct LiveSubscription {
    pub outlet: Arc<Outlet>,
    pub group: Arc<Group>,
    pub topics: Vec<TopicPattern>,
    pub options: Arc<GroupOptions>,
}

impl LiveSubscription {
    fn attach(&self, core: &Arc<Core>, topic: &Topic) {
        if self.topics.iter().any(|pattern| pattern.matches(topic.name())) && !self.outlet.is_ended() {
            if self.options.mode == Mode::Partitioned {
                let desk = self.group.desk(topic.name());
                return desk.join(core, &self.group, &self.options, &self.outlet);
            }
            for log in topic.logs() {
                self.group.attach(core, log, &self.options, &self.outlet);
            }
        }
    }
}

/// Subscriptions that want to hear of new topics.
#[derive(Default)]
pub(crate) struct Followers(Mutex<Vec<Weak<LiveSubscription>>>);

impl Followers {
    fn add(&self, live: &Arc<LiveSubscription>) {
        let mut followers = self.0.lock();
        followers.retain(|follower| follower.strong_count() > 0);
        followers.push(Arc::downgrade(live));
    }

    pub fn all(&self) -> Vec<Arc<LiveSubscription>> {
        self.0.lock().iter().filter_map(Weak::upgrade).collect()
    }
}

/// Attaches subscriptions to topics that are made or grow, until the bus stops.
/// `seen` is how long the history of topics was when the bus started.
pub(crate) async fn follow_new_topics(core: &Arc<Core>, mut seen: usize) {
    let mut grown = core.topics.watch();
    let mut phase = core.watch_phase();
    while *phase.borrow_and_update() == BusPhase::Open {
        let (topics, now) = core.topics.since(seen);
        seen = now;
        for live in core.followers.all() {
            topics.iter().for_each(|topic| live.attach(core, topic));
        }
        tokio::select! {
            _ = grown.changed() => {}
            _ = phase.changed() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use prom_store::{MemoryStore, SystemClock};

    use crate::{Bus, BusOptions, Caps};

    #[tokio::test]
    async fn a_group_that_is_refused_leaves_nothing() {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
        let caps = Caps { groups_per_subject: Some(1), ..Caps::default() };
        let bus = Bus::start(store, BusOptions { caps, ..BusOptions::default() }).await.unwrap();
        let bus = bus.acting_for(Some("stranger"));
        let first = bus.subscribe("a", "first").filter(".payload").start().await.unwrap();
        assert!(bus.subscribe("a", "second").filter(".payload").start().await.is_err());
        assert!(bus.subscribe("a", "third").filter("not jq (").start().await.is_err());
        let running: Vec<String> = bus.core().groups.all().iter().map(|group| group.name.to_string()).collect();
        assert_eq!(running, ["first"]);
        first.unsubscribe().await;
    }
}
