//! Making a group, or teaching it more topics: its document and the cursors of every topic that is
//! there become durable together. `from` is used here, once; topics that come later start at 0.

use std::sync::Arc;

use prom_store::{CursorChange, CursorName, Expect, LogName};
use prom_types::{GroupName, Offset, TopicPattern};

use super::document::Learned;
use super::{GroupDocument, GroupOptions, RequestedOptions, read_group};
use crate::bus::Core;
use crate::limits::CONTENTION_TRIES;
use crate::position::resolve;
use crate::{BeyondEnd, Error};

impl Core {
    /// The options of the group for these topics, after making whatever of it was missing.
    pub async fn join_group(
        self: &Arc<Self>,
        name: &GroupName,
        topics: &[TopicPattern],
        asked: &RequestedOptions,
        maker: Option<&Arc<str>>,
    ) -> Result<GroupOptions, Error> {
        for _ in 0..CONTENTION_TRIES {
            let now = self.clock.now_ms();
            let found = read_group(&*self.store, name).await?;
            let (mut group, expect) = match found {
                Some((group, revision)) => (group, Expect::Revision(revision)),
                None => {
                    self.check_room_for_group(maker).await?;
                    let made_by = maker.map(|maker| maker.to_string());
                    (GroupDocument { made_by, ..GroupDocument::new(now) }, Expect::Absent)
                }
            };
            let is_new = expect == Expect::Absent;
            let before = group.clone();
            let (options, learned) = group.agree(name, topics, asked.clone())?;
            if learned == Learned::Nothing && options.expire_after_ms.is_none() {
                return Ok(options);
            }
            group.last_used_ts = group.last_used_ts.max(now);
            let mut work = self.unit_of_work();
            work.write(group.write(name, expect)?);
            if learned == Learned::Topics {
                if let Some(partitions) = options.partitions {
                    work.write(self.division().await?);
                    self.check_stored_division(topics, partitions).await?;
                }
                for (cursor, floor) in self.first_cursors(name, topics, &options, &before).await? {
                    work.change_cursor(cursor, CursorChange::Create { floor });
                }
            }
            match work.send().await {
                Ok(_) => {
                    if is_new {
                        self.group_census.made(maker);
                    }
                    return Ok(options);
                }
                // Another subscriber was first: look again what the group has become.
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended { what: format!("group {name}") })
    }

    /// A cursor for every partition that exists and matches. One that is there already stays.
    async fn first_cursors(
        &self,
        name: &GroupName,
        topics: &[TopicPattern],
        options: &GroupOptions,
        before: &GroupDocument,
    ) -> Result<Vec<(CursorName, Offset)>, Error> {
        let wanted = self.topics.matching(topics);
        // A topic the group reached before has come later than the group: it starts at 0.
        let (known, new): (Vec<_>, Vec<_>) = wanted.iter().partition(|topic| before.matches(topic.name()));
        let logs: Vec<LogName> = new.into_iter().flat_map(|topic| topic.logs().iter().cloned()).collect();
        let floors = resolve(options.from, BeyondEnd::Refuse, &*self.store, &logs).await?;
        let from_zero = known.into_iter().flat_map(|topic| topic.logs().iter().cloned()).map(|log| (log, 0));
        let cursor = |(log, floor)| (CursorName::new(log, name.clone()), floor);
        Ok(logs.into_iter().zip(floors).chain(from_zero).map(cursor).collect())
    }
}
