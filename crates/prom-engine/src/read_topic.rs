//! Reading a whole topic page by page: partition by partition, in offset order.

use std::fmt;

use prom_store::{Damage, ReadLimit};
use prom_types::{Invalid, Offset, TopicName};

use crate::event::EventOrigin;
use crate::gap::gap;
use crate::{Bus, Error, Gap, GapReason, StoredEvent};

/// An offset in each partition of a topic. Partitions that it does not mention begin at 0.
/// Written as the offsets joined by dots.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TopicOffsets(pub Vec<Offset>);

/// Events of a topic.
#[derive(Debug)]
pub struct TopicPage {
    /// Partition by partition, in offset order.
    pub events: Vec<StoredEvent>,
    /// Where the next page begins. At the end of the topic it brings what is published later.
    pub next: TopicOffsets,
    /// Nothing is left to read now.
    pub at_end: bool,
    /// What exists and cannot be read; the page passes over it.
    pub damage: Vec<Damage>,
    /// What retention removed before it could be read.
    pub gaps: Vec<Gap>,
}

impl TopicOffsets {
    /// Reads what [`fmt::Display`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        text.split('.').map(|offset| offset.parse().ok()).collect::<Option<_>>().map(Self)
    }
}

impl fmt::Display for TopicOffsets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, offset) in self.0.iter().enumerate() {
            let dot = if at > 0 { "." } else { "" };
            write!(f, "{dot}{offset}")?;
        }
        Ok(())
    }
}

impl Bus {
    /// Events of all partitions of a topic, from these offsets on.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), prom_engine::Error> {
    /// # let store = std::sync::Arc::new(prom_store::MemoryStore::new(std::sync::Arc::new(prom_store::SystemClock::new())));
    /// # let bus = prom_engine::Bus::start(store, Default::default()).await?;
    /// use prom_engine::TopicOffsets;
    ///
    /// bus.publish("orders", serde_json::json!(7)).await?;
    /// let page = bus.read_topic("orders", TopicOffsets::default(), 100).await?;
    /// assert_eq!((page.events.len(), page.at_end), (1, true));
    /// assert!(bus.read_topic("orders", page.next, 100).await?.events.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read_topic(
        &self,
        topic: &str,
        from: TopicOffsets,
        limit: impl Into<ReadLimit>,
    ) -> Result<TopicPage, Error> {
        let core = self.core();
        let topic = core.topics.require(&*core.store, topic).await?;
        let partitions = topic.settings.partitions;
        if from.0.len() > topic.logs().len() {
            return Err(Invalid::Partition { partition: partitions, partitions }.into());
        }
        let mut page = TopicPage { events: Vec::new(), next: from, at_end: true, damage: Vec::new(), gaps: Vec::new() };
        page.next.0.resize(topic.logs().len(), 0);
        let mut room: ReadLimit = limit.into();
        for (log, next) in topic.logs().iter().zip(&mut page.next.0) {
            let origin = EventOrigin::plain(log.clone());
            while room.events > 0 && room.bytes > 0 {
                let read = core.read_page(&origin, *next, room).await?;
                let bytes: usize = read.events.iter().map(|event| event.record().len()).sum();
                room.events = room.events.saturating_sub(read.events.len());
                room.bytes = room.bytes.saturating_sub(bytes);
                page.events.extend(read.events);
                page.damage.extend(read.damage);
                if read.bounds.start > *next {
                    page.gaps.push(gap(log, *next..read.bounds.start, GapReason::Retention));
                    topic.meter.lost_to_tails.add(read.bounds.start - *next);
                }
                let has_moved = read.next > *next;
                *next = read.next.max(*next);
                if !has_moved || *next >= read.bounds.next {
                    break;
                }
            }
            page.at_end &= *next >= core.store.bounds(log).await?.next;
        }
        Ok(page)
    }
}

impl Bus {
    /// How many events with causes this process has admitted to a topic since it started; `None` where others write too, or
    /// where the topic is not known. Every event that is stored was counted before.
    pub fn caused_events(&self, topic: &TopicName) -> Option<u64> {
        let topics = &self.core().topics;
        if topics.others_write() { None } else { topics.get(topic).map(|topic| topic.meter.caused.get()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_back_and_nothing_else() {
        let offsets = TopicOffsets(vec![3, 0, 17]);
        assert_eq!(offsets.to_string(), "3.0.17");
        assert_eq!(TopicOffsets::parse("3.0.17"), Some(offsets));
        for bad in ["", "x", "3.", "-1", "1e3", "99999999999999999999999"] {
            assert_eq!(TopicOffsets::parse(bad), None, "{bad:?} passed");
        }
    }
}
