//! Leaving events out of a tail: those that a filter rejects, and those above a rate per second.
//!
//! Promises: the filter runs on no thread that serves others; searches, replays and flows, whose programs run there too, wait
//! for a few events of all tails, and of one subject's tails for fewer; what is left out is counted and told, once a second;
//! a tail that asks for neither pays nothing.

use std::sync::Arc;
use std::time::Duration;

use prom_engine::StoredEvent;
use prom_protocol::ErrorCode;
use prom_protocol::frame::err::Problem;
use prom_protocol::frame::subscribe::SubscribeOpts;
use prom_protocol::frame::thinned::Thinned;
use prom_transform::Program;
use tokio::time::Instant;

use crate::{Hub, problem};

/// How often the client hears what was left out.
pub const TOLD_EVERY: Duration = Duration::from_secs(1);
/// Events that a filter looks at before another tail has its turn.
const JUDGED_AT_ONCE: usize = 16;
/// A second is cut into this many: what is sent is spread over it.
const SLICES_PER_SECOND: u32 = 5;

/// What one tail leaves out.
pub struct Thinning {
    filter: Option<Program>,
    /// Whose time its filter takes.
    subject: Option<Arc<str>>,
    max_per_second: Option<u32>,
    slice_until: Instant,
    /// Events that may still be sent in this slice.
    left: u32,
    counts: Thinned,
    /// Something was told last time: that nothing came since is news.
    told: bool,
}

impl Thinning {
    /// `None` if the tail gets everything.
    pub async fn new(hub: &Hub, subject: Option<&Arc<str>>, opts: &SubscribeOpts) -> Result<Option<Self>, Problem> {
        let SubscribeOpts { filter, max_per_second, .. } = opts;
        if filter.is_none() && max_per_second.is_none() {
            return Ok(None);
        }
        if *max_per_second == Some(0) {
            return Err(Problem::new(ErrorCode::BadRequest, "field `opts.maxPerSecond` must be at least 1"));
        }
        let filter = match filter {
            Some(text) => Some(hub.bus.compile_program(text).await.map_err(|error| problem::of_bus(&error))?),
            None => None,
        };
        let max_per_second = *max_per_second;
        let slice_until = Instant::now();
        let subject = subject.cloned();
        Ok(Some(Self {
            filter,
            subject,
            max_per_second,
            slice_until,
            left: 0,
            counts: Thinned::default(),
            told: false,
        }))
    }

    /// Those that are sent.
    pub async fn thin(&mut self, hub: &Hub, events: Vec<StoredEvent>) -> Result<Vec<StoredEvent>, prom_engine::Error> {
        self.counts.seen += events.len() as u64;
        let mut wanted = match &self.filter {
            Some(program) => self.filtered(hub, program.clone(), events).await?,
            None => events,
        };
        self.counts.matched += wanted.len() as u64;
        if let Some(most) = self.max_per_second {
            wanted.truncate(self.take(most, wanted.len()));
        }
        self.counts.sent += wanted.len() as u64;
        Ok(wanted)
    }

    async fn filtered(
        &mut self,
        hub: &Hub,
        program: Program,
        events: Vec<StoredEvent>,
    ) -> Result<Vec<StoredEvent>, prom_engine::Error> {
        let judge = move |event: StoredEvent| {
            let mut text = Vec::with_capacity(event.record().len() + 256);
            event.write_json(&mut text);
            (program.test(&text).map_err(|error| error.to_string()), event)
        };
        let mut wanted = Vec::new();
        let mut events = events.into_iter().peekable();
        while events.peek().is_some() {
            let some = events.by_ref().take(JUDGED_AT_ONCE).collect();
            let place = hub.tail_filters.acquire(&self.subject).await;
            let judged = hub.bus.in_turns(some, judge.clone()).await?;
            drop(place);
            for (verdict, event) in judged {
                match verdict {
                    Ok(true) => wanted.push(event),
                    Ok(false) => {}
                    Err(error) => {
                        self.counts.failed += 1;
                        self.counts.error.get_or_insert(error);
                    }
                }
            }
        }
        Ok(wanted)
    }

    /// How many of so many may go now.
    fn take(&mut self, most: u32, wanted: usize) -> usize {
        let now = Instant::now();
        if now >= self.slice_until {
            self.slice_until = now + Duration::from_secs(1) / SLICES_PER_SECOND;
            self.left = most.div_ceil(SLICES_PER_SECOND);
        }
        let taken = self.left.min(u32::try_from(wanted).unwrap_or(u32::MAX));
        self.left -= taken;
        taken as usize
    }

    /// What the client is told now, if there is anything to tell.
    pub fn report(&mut self) -> Option<Thinned> {
        let counts = std::mem::take(&mut self.counts);
        let is_news = counts.seen > 0 || self.told;
        self.told = counts.seen > 0;
        is_news.then_some(counts)
    }
}
