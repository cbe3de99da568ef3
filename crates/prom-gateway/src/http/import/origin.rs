//! Events that never left: an export that is imported into its own topic finds them at their offsets.
//!
//! Exact ids tell what was imported before, but the originals were published otherwise. Their place tells.

use prom_engine::{Bus, Page};
use prom_types::{NewEvent, Offset, TopicName};

use super::line::PlaceOfOrigin;

/// How many events are read at once; lines mostly come in the order of their offsets.
const PAGE_EVENTS: usize = 1000;

/// The part of a topic that was read last.
#[derive(Default)]
pub(super) struct Origins {
    read: Option<ReadPart>,
}

struct ReadPart {
    topic: TopicName,
    partition: u32,
    from: Offset,
    page: Page,
}

impl Origins {
    /// What was read may be outdated by the next batch.
    pub fn forget(&mut self) {
        self.read = None;
    }

    /// Whether the event is still where it was when it was exported.
    pub async fn hold(&mut self, bus: &Bus, event: &NewEvent, origin: PlaceOfOrigin) -> bool {
        let PlaceOfOrigin { partition, offset, .. } = origin;
        let covers = |read: &ReadPart| {
            let within = read.from <= offset && offset < read.page.next;
            read.topic == event.topic && read.partition == partition && within
        };
        if !self.read.as_ref().is_some_and(covers) {
            // A topic or partition that is not there holds nothing; any other trouble is told when the event is stored.
            let page = bus.read(&event.topic, partition, offset, PAGE_EVENTS).await.ok();
            self.read = page.map(|page| ReadPart { topic: event.topic.clone(), partition, from: offset, page });
        }
        let Some(read) = &self.read else {
            return false;
        };
        let found = read.page.events.binary_search_by_key(&offset, |stored| stored.offset());
        found.is_ok_and(|at| event.id == Some(read.page.events[at].id()))
    }
}
