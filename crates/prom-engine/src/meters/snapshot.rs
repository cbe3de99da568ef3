//! All meters at one moment, as plain numbers.

use prom_store::{HistogramSnapshot, StoreMeters};
use prom_types::{GroupName, TopicName};

use super::GroupMeter;
use crate::{Bus, PartitionOwners};

/// What was counted since the bus started.
#[derive(Debug, Clone, PartialEq)]
pub struct MetersSnapshot {
    /// By name.
    pub topics: Vec<TopicMeters>,
    /// By topic, then group: those that had something to deliver in this process.
    pub groups: Vec<GroupMeters>,
    /// By topic, then group: those whose partitions have owners.
    pub owners: Vec<OwnerMeters>,
    /// Groups that this hub serves; `None` where it has its store to itself.
    pub groups_served: Option<u64>,
    /// Dispatchers of this process at this moment.
    pub dispatchers: DispatcherCounts,
    /// Bytes of events in memory that wait for subscribers, of groups and tails.
    pub delivery_bytes: u64,
    /// What the store measured.
    pub store: StoreMeters,
}

/// How many dispatchers there are: one per partition and group with a subscriber here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DispatcherCounts {
    /// Those with something to do, or that had until a few seconds ago.
    pub working: u64,
    /// The others: all is settled, and they wait for an event.
    pub resting: u64,
}

/// Who owns what at this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerMeters {
    /// The topic.
    pub topic: TopicName,
    /// The group.
    pub group: GroupName,
    /// The owners of its partitions.
    pub owners: PartitionOwners,
}

/// Of one topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicMeters {
    /// The topic.
    pub topic: TopicName,
    /// Events stored by this bus, dead letters and audit events included; an id that was there
    /// already is not counted again. Counted when the commit is durable, also if the publisher does not
    /// wait for it.
    pub published: u64,
    /// Offsets that readers without a group did not get because retention or damage was faster. Each was told as a gap.
    pub lost_to_tails: u64,
}

/// Of one group in one topic.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupMeters {
    /// The topic.
    pub topic: TopicName,
    /// The group.
    pub group: GroupName,
    /// Deliveries that subscribers took.
    pub delivered: u64,
    /// Those among them whose event had reached the group before: it failed, its time ran out, or
    /// its holder went away.
    pub redelivered: u64,
    /// Leased at this moment, also what still waits to be taken.
    pub in_flight: u64,
    /// Events settled by an ack. A second ack of the same event is not counted.
    pub acked: u64,
    /// Deliveries given back as failed. A lease that ran out is not among them.
    pub nacked: u64,
    /// Events whose dead letter is durable.
    pub dead_lettered: u64,
    /// Offsets that retention removed, or damage took, before the group settled them. Each was told as a gap.
    pub lost: u64,
    /// One read of the store by a dispatcher.
    pub poll_ms: HistogramSnapshot,
    /// From handing an event over to its ack. It begins when the event is put where the subscriber
    /// takes it from, so what waits there is counted in; extending the lease does not
    /// restart it. The beginning of a long one is known to an eighth of it.
    pub handler_ms: HistogramSnapshot,
    /// From when an event was stored to when a subscriber took it, by the wall clock and thus in
    /// whole milliseconds; redeliveries included.
    pub latency_ms: HistogramSnapshot,
    /// Partitions that got an owner, or another one.
    pub moves: u64,
    /// How long each of them had no owner, or was being finished by the owner before.
    pub handover_ms: HistogramSnapshot,
}

impl Bus {
    /// What was counted so far. Cheap: it waits for nothing and asks no store.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), prom_engine::Error> {
    /// # let store = std::sync::Arc::new(prom_store::MemoryStore::new(std::sync::Arc::new(prom_store::SystemClock::new())));
    /// # let bus = prom_engine::Bus::start(store, Default::default()).await?;
    /// bus.publish("orders.placed", serde_json::json!({"id": 7})).await?;
    /// let meters = bus.meters();
    /// assert_eq!((meters.topics[0].topic.as_str(), meters.topics[0].published), ("orders.placed", 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn meters(&self) -> MetersSnapshot {
        let core = self.core();
        let stored = core.topics.all().into_iter().filter(|topic| topic.is_stored());
        let count = |topic: &crate::topic::Topic| TopicMeters {
            topic: topic.name().clone(),
            published: topic.meter.published.get(),
            lost_to_tails: topic.meter.lost_to_tails.get(),
        };
        let mut topics: Vec<TopicMeters> = stored.map(|topic| count(&topic)).collect();
        topics.sort_unstable_by(|a, b| a.topic.cmp(&b.topic));
        let metered = core.groups.meters().into_iter();
        let mut groups: Vec<GroupMeters> = metered.map(|(topic, group, meter)| meter.snapshot(topic, group)).collect();
        groups.sort_unstable_by(|a, b| (&a.topic, &a.group).cmp(&(&b.topic, &b.group)));
        let owned = core.groups.owners().into_iter();
        let mut owners: Vec<OwnerMeters> =
            owned.map(|(topic, group, owners)| OwnerMeters { topic, group, owners }).collect();
        owners.sort_unstable_by(|a, b| (&a.topic, &a.group).cmp(&(&b.topic, &b.group)));
        let groups_served = core.groups_owned().map(|groups| groups as u64);
        let dispatchers = core.groups.dispatchers();
        let delivery_bytes = u64::try_from(core.delivery_memory.bytes()).unwrap_or(u64::MAX);
        let store = core.store.meters();
        MetersSnapshot { topics, groups, owners, groups_served, dispatchers, delivery_bytes, store }
    }
}

impl GroupMeter {
    fn snapshot(&self, topic: TopicName, group: GroupName) -> GroupMeters {
        GroupMeters {
            topic,
            group,
            delivered: self.delivered.get(),
            redelivered: self.redelivered.get(),
            in_flight: self.in_flight.get(),
            acked: self.acked.get(),
            nacked: self.nacked.get(),
            dead_lettered: self.dead_lettered.get(),
            lost: self.lost.get(),
            poll_ms: self.polls.snapshot(),
            handler_ms: self.handling.snapshot(),
            latency_ms: self.latency.snapshot(),
            moves: self.moves.get(),
            handover_ms: self.handovers.snapshot(),
        }
    }
}
