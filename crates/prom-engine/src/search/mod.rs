//! Search: the newest events of a topic that match, found by reading backwards from its head.
//!
//! ```text
//!   partitions ──▶ blocks, read from the end ──▶ one stream, newest first ──▶ judged elsewhere ──▶ a page
//! ```
//!
//! Promises: a page looks at a bounded number of events and bytes and takes a bounded time, whatever the topic's size; where
//! it ended says `next`, and the pages together look at every event once. Nobody's program or text runs on a thread that
//! serves others. What cannot be judged is counted, with the first reason.

mod backwards;
mod criteria;

use std::collections::VecDeque;
use std::sync::Arc;

use prom_store::Bounds;
use prom_types::{EpochMs, Offset, Position, TopicName};

use self::backwards::Backwards;
pub use self::criteria::{HeaderMatch, SearchCriteria};
use crate::filter::{Lane, ProgramTurn};
use crate::limits::{SEARCH_AT_ONCE, SEARCH_BLOCK_BYTES, SEARCH_BYTES, SEARCH_EVENTS, SEARCH_FOUND_BYTES, SEARCH_TIME};
use crate::{BeyondEnd, Bus, Error, StoredEvent, TopicMask, TopicOffsets};

/// What to look for, and where.
#[derive(Debug, Clone)]
pub struct Search {
    /// The topic.
    pub topic: TopicName,
    /// What an event must be like.
    pub criteria: SearchCriteria,
    /// Only events that were stored at or after this.
    pub from_ts: Option<EpochMs>,
    /// Only events that were stored at or before this.
    pub to_ts: Option<EpochMs>,
    /// At most this many events.
    pub limit: usize,
    /// Where an earlier page ended.
    pub before: Option<TopicOffsets>,
    /// What is hidden from the one who asks: what is hidden is not searched either.
    pub mask: Option<Arc<TopicMask>>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct FoundEvents {
    /// Newest first.
    pub events: Vec<StoredEvent>,
    /// Events that were looked at.
    pub scanned: u64,
    /// Where the next page begins; `None` when everything was looked at.
    pub next: Option<TopicOffsets>,
    /// Events that the program failed on; they are not among the events found.
    pub failed: u64,
    /// Why, for the first of them.
    pub failure: Option<String>,
    /// Events that exist and cannot be read.
    pub unreadable: u64,
}

/// Whether an event matches; or why the program could not say.
type Matched = Result<bool, String>;

impl Bus {
    /// The newest events that match, from the head or from where an earlier page ended.
    pub async fn search(&self, search: Search) -> Result<FoundEvents, Error> {
        let began = self.clock().monotonic();
        let (from, to) = self.search_range(&search).await?;
        let criteria = Arc::new(search.criteria);
        let mut backwards = Backwards::begin(self, &search.topic, from, to).await?;
        let mut page = FoundEvents::default();
        let mut waiting = VecDeque::new();
        let (mut bytes, mut found_bytes) = (0, 0);
        loop {
            let mut waiting_bytes = 0;
            while waiting.len() < SEARCH_AT_ONCE && waiting_bytes < SEARCH_BLOCK_BYTES {
                let Some(event) = backwards.next().await? else { break };
                waiting_bytes += event.record().len();
                waiting.push_back(event);
            }
            if waiting.is_empty() {
                page.unreadable = backwards.unreadable;
                return Ok(page);
            }
            let (events, judged) = self.judge(&criteria, search.mask.as_ref(), waiting.into()).await?;
            waiting = events.into();
            for matched in judged {
                let Some(event) = waiting.pop_front() else { break };
                page.scanned += 1;
                bytes += event.record().len();
                backwards.pass(&event);
                match matched {
                    Ok(false) => {}
                    Ok(true) => {
                        found_bytes += event.record().len();
                        page.events.push(event.into_own_memory());
                    }
                    Err(reason) => {
                        page.failed += 1;
                        page.failure.get_or_insert(reason);
                    }
                }
                if page.events.len() >= search.limit || found_bytes >= SEARCH_FOUND_BYTES {
                    break;
                }
            }
            let is_found = page.events.len() >= search.limit || found_bytes >= SEARCH_FOUND_BYTES;
            let is_spent = page.scanned >= SEARCH_EVENTS
                || bytes >= SEARCH_BYTES
                || self.clock().monotonic().saturating_sub(began) >= SEARCH_TIME;
            if is_found || is_spent {
                page.unreadable = backwards.unreadable;
                let is_over = waiting.is_empty() && backwards.is_at_end();
                page.next = (!is_over).then(|| backwards.position());
                return Ok(page);
            }
        }
    }

    /// Those of the events that match, in the same order.
    pub async fn matching(
        &self,
        criteria: &SearchCriteria,
        events: Vec<StoredEvent>,
    ) -> Result<Vec<StoredEvent>, Error> {
        let criteria = criteria.clone();
        let judge =
            move |event: StoredEvent| criteria.matches(&event, &mut Vec::new()).unwrap_or(false).then_some(event);
        Ok(self.in_turns(events, judge).await?.into_iter().flatten().collect())
    }

    /// The offsets to look at, partition by partition: from the first to before the second.
    async fn search_range(&self, search: &Search) -> Result<(Vec<Offset>, Vec<Offset>), Error> {
        let bounds = self.bounds(&search.topic).await?;
        let stored_at =
            async |ts| Ok::<_, Error>(self.offsets(&search.topic, Position::StoredAt(ts), BeyondEnd::Allow).await?.0);
        let from = match search.from_ts {
            Some(ts) => stored_at(ts).await?,
            None => bounds.iter().map(|bounds| bounds.start).collect(),
        };
        let mut to = match search.to_ts.and_then(|ts| ts.checked_add(1)) {
            Some(after) => stored_at(after).await?,
            None => bounds.iter().map(|bounds| bounds.next).collect(),
        };
        if let Some(TopicOffsets(before)) = &search.before {
            // A partition that came later was not begun yet, and has nothing that is older than the first page.
            let before = before.iter().copied().chain(std::iter::repeat(0));
            to.iter_mut().zip(before).for_each(|(to, before)| *to = before.min(*to));
        }
        let clip = |(to, bounds): (&mut Offset, &Bounds)| *to = bounds.next.min(*to);
        to.iter_mut().zip(&bounds).for_each(clip);
        Ok((from, to))
    }

    /// As many as fit into a turn, at least one; with all the events, as they came.
    async fn judge(
        &self,
        criteria: &Arc<SearchCriteria>,
        mask: Option<&Arc<TopicMask>>,
        mut events: Vec<StoredEvent>,
    ) -> Result<(Vec<StoredEvent>, Vec<Matched>), Error> {
        let (criteria, mask) = (criteria.clone(), mask.cloned());
        let work = move || {
            let (turn, mut text) = (ProgramTurn::begin(), Vec::new());
            let mut judged = Vec::with_capacity(events.len());
            for event in &mut events {
                if let Some(mask) = &mask {
                    *event = mask.seen(event.clone());
                }
                judged.push(criteria.matches(event, &mut text));
                if turn.is_over() {
                    break;
                }
            }
            (events, judged)
        };
        self.core().filter_places.run_in(Lane::Background, work).await.ok_or(Error::Closed)
    }
}
