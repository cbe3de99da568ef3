//! Finding an event by its id alone, where its topic is not known.
//!
//! Every log is asked, by the index of ids that its store keeps; logs in which nothing was stored since the id was made are passed
//! over. The look ends at a deadline, and says so.

use std::time::Duration;

use futures::stream::{self, StreamExt};
use prom_store::Find;
use prom_types::{EventId, TopicName};

use crate::limits::{LOCATE_AT_ONCE, LOCATE_CLOCK_DOUBT};
use crate::{Bus, Error, StoredEvent};

/// What a look for an id came to.
#[derive(Debug)]
pub enum Located {
    /// There it is. The same id may be in other topics as well.
    Here(Box<StoredEvent>),
    /// It is in none of the topics.
    Nowhere,
    /// Not found in the time there was.
    TimeIsUp,
}

impl Bus {
    /// Looks for an event in all topics that `among` admits.
    pub async fn locate(
        &self,
        id: EventId,
        among: &(dyn Fn(&TopicName) -> bool + Send + Sync),
        within: Duration,
    ) -> Result<Located, Error> {
        let since = id.made_ms().map(|made| made.saturating_sub(LOCATE_CLOCK_DOUBT));
        let mut logs = self.logs().await?;
        logs.retain(|info| {
            let may_be_there = since.is_none_or(|since| info.last_stored_ts >= since);
            info.bounds.start < info.bounds.next && may_be_there && among(&info.log.topic)
        });
        let look = async {
            let looks = logs.into_iter().map(|info| async move {
                let found = self.store().find(&info.log, Find::Id(id)).await?;
                Ok::<_, Error>(found.map(|offset| (info.log, offset)))
            });
            let mut looks = stream::iter(looks).buffer_unordered(LOCATE_AT_ONCE);
            while let Some(found) = looks.next().await {
                if let Some((log, offset)) = found?
                    && let Some(event) = self.event_at(&log.topic, log.partition, offset).await?
                {
                    return Ok(Located::Here(Box::new(event)));
                }
            }
            Ok::<_, Error>(Located::Nowhere)
        };
        tokio::time::timeout(within, look).await.unwrap_or(Ok(Located::TimeIsUp))
    }
}
