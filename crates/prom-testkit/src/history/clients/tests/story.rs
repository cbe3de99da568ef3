//! Histories built line by line, with times in milliseconds.

use prom_types::EventId;

use crate::history::clients::{
    Broken, ClientsSummary, Explanation, Fault, GroupOrder, HistoryLine, Observation, Promise, SettleAnswer,
    SettleKind, judge,
};

pub const TTL_MS: u64 = 3000;
pub const LATENCY_MS: u64 = 100;
const LEASE_MS: u64 = 30_000;
/// When the log is read.
pub const END_MS: u64 = 100_000;

#[derive(Clone)]
pub struct Story {
    lines: Vec<(u64, Observation)>,
}

impl Default for Story {
    fn default() -> Self {
        Self::with_order(GroupOrder::Key)
    }
}

pub fn id(event: u64) -> EventId {
    EventId::derived(&event.to_string())
}

impl Story {
    /// One group, `g`.
    pub fn with_order(order: GroupOrder) -> Self {
        let run = Observation::Run { hub_ttl_ms: TTL_MS, latency_ms: LATENCY_MS };
        Self { lines: vec![(0, run), (0, Observation::Group { group: "g".to_owned(), order })] }
    }

    /// Two events of one key, published, delivered to `alpha` and acked one after the other.
    pub fn of_two() -> Self {
        Self::of_two_in(GroupOrder::Key)
    }

    pub fn of_two_in(order: GroupOrder) -> Self {
        let story = Self::with_order(order).stored(0, 10).stored(1, 20);
        story.handled(1, 0, "alpha", 1000).handled(2, 1, "alpha", 2000)
    }

    /// Published, answered, and in the end read from the log at the offset of its number.
    pub fn stored(self, event: u64, at_ms: u64) -> Self {
        self.publishing(event, at_ms).published(event, event, at_ms + 5).logged(event, event)
    }

    pub fn publishing(self, event: u64, at_ms: u64) -> Self {
        let (publisher, topic, key) = ("alpha".to_owned(), "t".to_owned(), Some("k".to_owned()));
        self.and(at_ms, |_| Observation::Publishing { publisher, number: event, id: id(event), topic, key })
    }

    pub fn published(self, event: u64, offset: u64, at_ms: u64) -> Self {
        let (publisher, topic) = ("alpha".to_owned(), "t".to_owned());
        self.and(at_ms, |_| Observation::Published { publisher, id: id(event), topic, partition: 0, offset })
    }

    pub fn logged(self, event: u64, offset: u64) -> Self {
        let (topic, key, stored_ts) = ("t".to_owned(), Some("k".to_owned()), 5);
        // One after the other in the file, as they are read.
        self.and(END_MS + offset, |_| Observation::Logged {
            topic,
            partition: 0,
            offset,
            id: id(event),
            key,
            stored_ts,
        })
    }

    /// Delivered, and acked 50 ms later.
    pub fn handled(self, delivery: u64, event: u64, client: &str, at_ms: u64) -> Self {
        self.delivered(delivery, event, client, at_ms).settled(
            delivery,
            event,
            SettleKind::Ack,
            SettleAnswer::Ok,
            at_ms + 50,
        )
    }

    /// Clients whose name ends with a 2 are on the second hub.
    pub fn delivered(self, delivery: u64, event: u64, client: &str, at_ms: u64) -> Self {
        self.attempt(1, delivery, event, client, at_ms)
    }

    pub fn attempt(self, attempt: u32, delivery: u64, event: u64, client: &str, at_ms: u64) -> Self {
        let hub = if client.ends_with('2') { "hub-2" } else { "hub-1" };
        let seen = Observation::Delivered {
            delivery,
            client: client.to_owned(),
            hub: hub.to_owned(),
            group: "g".to_owned(),
            topic: "t".to_owned(),
            partition: 0,
            offset: event,
            id: id(event),
            key: Some("k".to_owned()),
            attempt,
            deadline_ms: LEASE_MS,
        };
        self.and(at_ms, |_| seen)
    }

    /// Sent, and answered 10 ms later.
    pub fn settled(self, delivery: u64, event: u64, verdict: SettleKind, answer: SettleAnswer, at_ms: u64) -> Self {
        let id = id(event);
        let story = self.and(at_ms, |_| Observation::Settling { delivery, id, verdict });
        story.and(at_ms + 10, |_| Observation::Settled { delivery, id, verdict, answer, why: None })
    }

    pub fn settled_line(delivery: u64, event: u64, answer: SettleAnswer) -> Observation {
        Observation::Settled { delivery, id: id(event), verdict: SettleKind::Ack, answer, why: None }
    }

    pub fn disconnected(self, client: &str, at_ms: u64) -> Self {
        self.and(at_ms, |_| Observation::Disconnected { client: client.to_owned(), why: String::new() })
    }

    pub fn fault(self, fault: Fault, target: &str, at_ms: u64) -> Self {
        self.and(at_ms, |_| Observation::Fault { fault, target: target.to_owned() })
    }

    /// Last known to be unchanged at `since_ms`.
    pub fn cursor(self, epoch: u64, floor: u64, since_ms: u64, at_ms: u64) -> Self {
        let (group, topic, since_us) = ("g".to_owned(), "t".to_owned(), since_ms * 1000);
        self.and(at_ms, |_| Observation::Cursor { group, topic, partition: 0, epoch, floor, since_us })
    }

    pub fn and(mut self, at_ms: u64, seen: impl FnOnce(&Self) -> Observation) -> Self {
        let seen = seen(&self);
        self.lines.push((at_ms, seen));
        self
    }

    pub fn without(mut self, gone: impl Fn(&Observation) -> bool) -> Self {
        self.lines.retain(|(_, seen)| !gone(seen));
        self
    }

    pub fn lines(&self) -> Vec<HistoryLine> {
        let mut lines: Vec<HistoryLine> =
            self.lines.iter().map(|(at_ms, seen)| HistoryLine { at_us: at_ms * 1000, seen: seen.clone() }).collect();
        lines.sort_by_key(|line| line.at_us);
        lines
    }

    pub fn judge(&self) -> Result<ClientsSummary, Vec<Broken>> {
        judge(&self.lines())
    }

    /// Exactly this promise is broken, with these words.
    #[track_caller]
    pub fn breaks(&self, promise: Promise, words: &str) {
        let broken = self.judge().expect_err("it was not found");
        let all: Vec<String> = broken.iter().map(ToString::to_string).collect();
        assert!(broken.iter().all(|one| one.promise == promise), "{all:#?}");
        assert!(all[0].contains(words), "{all:#?}");
        assert!(broken.iter().all(|one| !one.lines.is_empty() && one.lines.iter().all(|line| *line > 0)), "{all:#?}");
    }

    #[track_caller]
    pub fn is_fine(&self) -> ClientsSummary {
        self.judge().unwrap_or_else(|broken| panic!("{broken:#?}"))
    }

    /// Fine, with one second delivery for this reason.
    #[track_caller]
    pub fn is_explained(&self, why: Explanation) {
        let summary = self.is_fine();
        assert_eq!(summary.explained.into_iter().collect::<Vec<_>>(), [(why, 1)]);
    }
}
