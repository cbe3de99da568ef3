//! How far a group is behind.

use hashbrown::HashMap;
use prom_store::{Bounds, CursorState, LogName, ReadLimit};
use prom_types::{GroupName, Offset, TopicName, TopicPattern};

use crate::dispatch::task::DispatchRequest;
use crate::{Bus, Error, GroupInfo};

/// Retained, unsettled events of a group in a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lag {
    /// The topic.
    pub topic: TopicName,
    /// The group.
    pub group: GroupName,
    /// Unsettled events of all partitions.
    pub lag_events: u64,
    /// The age of the oldest unsettled event.
    pub lag_ms: u64,
    /// Events that subscribers hold.
    pub in_flight: usize,
    /// Dead letters of the topic that are retained, of all its groups: what is in them counts as settled.
    pub dead_letters: u64,
    /// Each partition.
    pub partitions: Vec<PartitionLag>,
}

/// The same for one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionLag {
    /// The partition.
    pub partition: u32,
    /// The first unsettled offset.
    pub floor: Offset,
    /// What the next event gets.
    pub next: Offset,
    /// Unsettled events.
    pub lag_events: u64,
    /// The age of the oldest of them.
    pub lag_ms: u64,
    /// Events that subscribers hold.
    pub in_flight: usize,
}

/// How many events a group has not settled in a topic, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LagCount {
    /// The topic.
    pub topic: TopicName,
    /// The group.
    pub group: GroupName,
    /// Unsettled events of all partitions.
    pub lag_events: u64,
}

/// Which groups read a topic. Names are looked up and only patterns compared: a hub has many groups, and few have patterns.
struct Readers<'g> {
    groups: &'g [GroupInfo],
    by_name: HashMap<TopicName, Vec<usize>>,
    by_pattern: Vec<(usize, &'g TopicPattern)>,
}

impl<'g> Readers<'g> {
    fn of(groups: &'g [GroupInfo]) -> Self {
        let (mut by_name, mut by_pattern) = (HashMap::<TopicName, Vec<usize>>::new(), Vec::new());
        for (at, group) in groups.iter().enumerate() {
            for pattern in group.patterns() {
                match pattern.as_topic() {
                    Some(name) => by_name.entry(name).or_default().push(at),
                    None => by_pattern.push((at, pattern)),
                }
            }
        }
        Self { groups, by_name, by_pattern }
    }

    /// In the order of the groups.
    fn of_topic(&self, topic: &TopicName) -> impl Iterator<Item = &'g GroupInfo> {
        let mut found = self.by_name.get(topic).cloned().unwrap_or_default();
        found.extend(self.by_pattern.iter().filter(|(_, pattern)| pattern.matches(topic)).map(|(at, _)| *at));
        found.sort_unstable();
        found.dedup();
        let groups = self.groups;
        found.into_iter().filter_map(move |at| groups.get(at))
    }
}

impl Bus {
    /// The lag of every group in every topic that it reads, by topic and group. It lists cursors and logs once, whatever
    /// their number; it reads no event and asks no dispatcher.
    pub async fn lag_counts(&self) -> Result<Vec<LagCount>, Error> {
        let groups = self.groups().await?;
        let mut counts = Vec::new();
        if groups.is_empty() {
            return Ok(counts);
        }
        let mut cursors = self.store().cursors(None).await?;
        cursors.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let bounds: HashMap<LogName, Bounds> =
            self.store().logs().await?.into_iter().map(|info| (info.log, info.bounds)).collect();
        let mut topics = self.core().topics.all();
        topics.retain(|topic| topic.is_stored());
        topics.sort_unstable_by(|a, b| a.name().cmp(b.name()));
        let new = CursorState::default();
        let readers = Readers::of(&groups);
        for topic in topics {
            for group in readers.of_topic(topic.name()) {
                let lag = |log: &LogName| {
                    let Bounds { start, next, .. } = bounds.get(log).copied()?;
                    let at = cursors.binary_search_by(|(name, _)| (&name.log, &name.group).cmp(&(log, &group.name)));
                    let cursor = at.ok().and_then(|at| cursors.get(at)).map_or(&new, |(_, cursor)| cursor);
                    Some(cursor.lag(start, next))
                };
                let lag_events = topic.logs().iter().filter_map(lag).sum();
                counts.push(LagCount { topic: topic.name().clone(), group: group.name.clone(), lag_events });
            }
        }
        Ok(counts)
    }

    /// How many events a group has not settled, and how old the oldest is. Counts what is durable.
    pub async fn lag(&self, topic: &str, group: &str) -> Result<Lag, Error> {
        let reading = self.reading(topic, group).await?;
        let running = self.core().groups.get(&reading.group);
        let mut partitions = Vec::new();
        for log in reading.topic.logs() {
            let cursor = self.cursor_state(log, &reading.group).await?;
            let bounds = self.store().bounds(log).await?;
            let lag_events = cursor.lag(bounds.start, bounds.next);
            let one = ReadLimit { events: 1, ..ReadLimit::default() };
            let oldest = match lag_events {
                0 => None,
                _ => self.store().read(log, cursor.floor, one).await?.records.into_iter().next(),
            };
            let age = |stored_ts: i64| self.core().clock.now_ms().saturating_sub(stored_ts).max(0).unsigned_abs();
            let report = running.ask_if_working(log, DispatchRequest::Status).await;
            partitions.push(PartitionLag {
                partition: log.partition,
                floor: cursor.floor,
                next: bounds.next,
                lag_events,
                lag_ms: oldest.map_or(0, |record| age(record.stored_ts())),
                in_flight: report.map_or(0, |report| report.status.in_flight),
            });
        }
        Ok(Lag {
            dead_letters: self.count_letters(reading.topic.name()).await?,
            topic: reading.topic.name().clone(),
            group: reading.group,
            lag_events: partitions.iter().map(|partition| partition.lag_events).sum(),
            lag_ms: partitions.iter().map(|partition| partition.lag_ms).max().unwrap_or(0),
            in_flight: partitions.iter().map(|partition| partition.in_flight).sum(),
            partitions,
        })
    }
}
