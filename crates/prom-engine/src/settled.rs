//! Whether an event that is not leased to the caller is settled: then acking it again is fine.

use prom_store::{CursorName, Find};
use prom_types::{EventId, GroupName, Offset, TopicPattern};

use crate::{Bus, Error};

impl Bus {
    /// Whether the group has settled this event, in every one of these topics that has an event of this
    /// id: ids are unique within a partition only, so name the topic where it is known. An event that is not
    /// there (any more) counts as not settled.
    pub async fn is_settled(&self, topics: &[TopicPattern], group: &GroupName, id: EventId) -> Result<bool, Error> {
        let mut found = false;
        for topic in self.core().topics.matching(topics) {
            for log in topic.logs() {
                let Some(offset) = self.store().find(log, Find::Id(id)).await? else {
                    continue;
                };
                let cursor = self.store().cursor(&CursorName::new(log.clone(), group.clone())).await?;
                if !cursor.is_some_and(|cursor| cursor.is_settled(offset)) {
                    return Ok(false);
                }
                found = true;
            }
        }
        Ok(found)
    }

    /// Of these ranges of offsets, both ends included, what the group has not settled.
    pub async fn unsettled(
        &self,
        topic: &str,
        partition: u32,
        group: &GroupName,
        ranges: &[(Offset, Offset)],
    ) -> Result<Vec<(Offset, Offset)>, Error> {
        let log = self.log(topic, partition).await?;
        let cursor = self.store().cursor(&CursorName::new(log, group.clone())).await?.unwrap_or_default();
        let mut open = Vec::new();
        for &(from, to) in ranges {
            let mut next = from.max(cursor.floor);
            for settled in cursor.above.iter() {
                if settled.start > next && next <= to {
                    open.push((next, to.min(settled.start - 1)));
                }
                next = next.max(settled.end);
            }
            if next <= to {
                open.push((next, to));
            }
        }
        Ok(open)
    }
}
