//! Publishing claimed rows: as one batch where nothing is wrong, and around bad rows where something is.
//!
//! ```text
//!   all rows in one batch ─▶ refused? ─▶ halves, by keys ─▶ … ─▶ the rows of one key, in halves ─▶ … ─▶ the bad row
//! ```
//!
//! Promises: a row is never published before an earlier row of its key that was claimed with it and is not published. A bad row
//! stops only its key. What the bus cannot do at the moment is not the fault of a row.

use std::collections::{HashMap, HashSet};

use prom_engine::{Bus, Error, ErrorKind};
use prom_types::NewEvent;
use tokio::time::timeout;

use super::limits::{CALL, CLAIM_BYTES};
use super::options::OnError;
use super::row::OutboxRow;

/// What became of each row, and whether the bus is in trouble.
pub struct PublishedRows {
    pub fates: Vec<RowFate>,
    /// Publishing ended here, by no fault of a row.
    pub trouble: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowFate {
    Sent,
    /// The event was there already.
    SentBefore,
    Refused {
        reason: String,
        chance: Chance,
    },
    /// An earlier row of its key did not go, or publishing ended.
    Waits,
}

/// Whether another try may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chance {
    /// A topic may be made, a schema changed.
    Later,
    /// The row itself would have to change.
    Never,
}

/// Which rows are in error when they are refused.
#[derive(Debug, Clone, Copy)]
pub struct RowRules {
    pub on_error: OnError,
    pub max_attempts: u32,
}

impl RowRules {
    /// Whether a refused row is in error now.
    pub fn is_final(&self, row: &OutboxRow, chance: Chance) -> bool {
        chance == Chance::Never || row.attempts + 1 >= self.max_attempts
    }
}

/// Rows that keep their order among themselves, by their index. A row without a key is one by itself.
type Group = (usize, Vec<usize>);

struct Publisher<'a> {
    bus: &'a Bus,
    rules: RowRules,
    rows: &'a [OutboxRow],
    events: Vec<Option<NewEvent>>,
    fates: Vec<RowFate>,
    /// Groups that go no further.
    stopped: HashSet<usize>,
}

/// Publishes rows in their order.
pub async fn publish(bus: &Bus, rules: RowRules, outbox: &str, rows: &[OutboxRow]) -> PublishedRows {
    let mut events = Vec::with_capacity(rows.len());
    let mut fates = vec![RowFate::Waits; rows.len()];
    for (row, fate) in rows.iter().zip(&mut fates) {
        match row.event(outbox) {
            Ok(event) => events.push(Some(event)),
            Err(reason) => {
                *fate = RowFate::Refused { reason, chance: Chance::Never };
                events.push(None);
            }
        }
    }
    let groups = groups(rows, &fates, rules.on_error);
    let mut publisher = Publisher { bus, rules, rows, events, fates, stopped: HashSet::new() };
    let trouble = publisher.publish_groups(groups).await.err();
    PublishedRows { fates: publisher.fates, trouble }
}

/// The rows that can go, by key, in the order of their first rows. Where a bad row holds its key, those behind it are left out.
fn groups(rows: &[OutboxRow], fates: &[RowFate], on_error: OnError) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut of_key: HashMap<&str, Option<usize>> = HashMap::new();
    for (index, row) in rows.iter().enumerate() {
        let is_bad = fates[index] != RowFate::Waits;
        let Some(key) = row.lane.as_deref() else {
            if !is_bad {
                groups.push((groups.len(), vec![index]));
            }
            continue;
        };
        match of_key.get(key) {
            Some(None) => {}
            _ if is_bad && on_error == OnError::Hold => drop(of_key.insert(key, None)),
            _ if is_bad => {}
            Some(Some(group)) => groups[*group].1.push(index),
            None => {
                of_key.insert(key, Some(groups.len()));
                groups.push((groups.len(), vec![index]));
            }
        }
    }
    groups
}

impl Publisher<'_> {
    async fn publish_groups(&mut self, groups: Vec<Group>) -> Result<(), String> {
        // The last of these is the next.
        let mut work = self.portions(groups);
        work.reverse();
        while let Some(mut portion) = work.pop() {
            portion.retain(|(group, _)| !self.stopped.contains(group));
            let indexes: Vec<usize> = portion.iter().flat_map(|(_, indexes)| indexes.iter().copied()).collect();
            if indexes.is_empty() {
                continue;
            }
            let events = indexes.iter().filter_map(|index| self.events[*index].clone()).collect();
            let answer = timeout(CALL, self.bus.publish_batch(events)).await;
            let Ok(answer) = answer else {
                return Err(format!("it did not answer within {} s", CALL.as_secs()));
            };
            let error = match answer {
                Ok(receipts) => {
                    for (index, receipt) in indexes.iter().zip(receipts) {
                        self.fates[*index] = if receipt.duplicate { RowFate::SentBefore } else { RowFate::Sent };
                    }
                    continue;
                }
                Err(error) => error,
            };
            if is_trouble(&error) {
                return Err(error.to_string());
            }
            if indexes.len() == 1 {
                self.refuse(portion[0].0, indexes[0], &error);
            } else {
                let (first, second) = halves(portion);
                work.extend([second, first]);
            }
        }
        Ok(())
    }

    fn refuse(&mut self, group: usize, index: usize, error: &Error) {
        let is_final = self.rules.is_final(&self.rows[index], Chance::Later);
        if !is_final || self.rules.on_error == OnError::Hold {
            self.stopped.insert(group);
        }
        self.fates[index] = RowFate::Refused { reason: error.to_string(), chance: Chance::Later };
    }

    /// As few batches as the bus takes.
    fn portions(&self, groups: Vec<Group>) -> Vec<Vec<Group>> {
        let mut portions: Vec<Vec<Group>> = Vec::new();
        let mut room = 0;
        for (group, indexes) in groups {
            for index in indexes {
                let bytes = self.rows[index].bytes();
                let fits = bytes <= room;
                room = if fits { room } else { CLAIM_BYTES } - bytes.min(CLAIM_BYTES);
                match portions.last_mut().filter(|_| fits) {
                    Some(portion) => match portion.last_mut().filter(|(last, _)| *last == group) {
                        Some((_, indexes)) => indexes.push(index),
                        None => portion.push((group, vec![index])),
                    },
                    None => portions.push(vec![(group, vec![index])]),
                }
            }
        }
        portions
    }
}

/// By groups; a single group by its rows.
fn halves(mut portion: Vec<Group>) -> (Vec<Group>, Vec<Group>) {
    if portion.len() > 1 {
        let second = portion.split_off(portion.len() / 2);
        return (portion, second);
    }
    let second = portion.iter_mut().map(|(group, indexes)| (*group, indexes.split_off(indexes.len() / 2))).collect();
    (portion, second)
}

/// Whether the bus, and no row, is the reason.
fn is_trouble(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Store | ErrorKind::Closed | ErrorKind::Fenced)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use prom_engine::{BusOptions, NewTopics, TopicSettings};
    use prom_store::{MemoryStore, SystemClock};
    use prom_types::{Headers, Json};

    use super::super::row::RowId;
    use super::*;

    const RULES: RowRules = RowRules { on_error: OnError::Hold, max_attempts: 3 };

    /// Knows only the topic `known`.
    async fn bus() -> Bus {
        let store = Arc::new(MemoryStore::new(Arc::new(SystemClock::new())));
        let options = BusOptions { new_topics: NewTopics::Refuse, ..BusOptions::default() };
        let bus = Bus::start(store, options).await.unwrap();
        bus.create_topic(TopicSettings::new("known").unwrap()).await.unwrap();
        bus
    }

    fn row(n: usize, topic: &str, key: Option<&str>) -> OutboxRow {
        OutboxRow {
            id: RowId::text(n.to_string()),
            topic: topic.to_owned(),
            payload: Ok(Json::from(serde_json::json!({ "n": n }))),
            headers: Ok(Headers::default()),
            key: key.map(str::to_owned),
            lane: key.map(str::to_owned),
            ts: n as i64,
            attempts: 0,
        }
    }

    fn letters(published: &PublishedRows) -> String {
        let letter = |fate: &RowFate| match fate {
            RowFate::Sent => 's',
            RowFate::SentBefore => 'b',
            RowFate::Refused { chance: Chance::Later, .. } => 'l',
            RowFate::Refused { chance: Chance::Never, .. } => 'n',
            RowFate::Waits => 'w',
        };
        published.fates.iter().map(letter).collect()
    }

    async fn stored(bus: &Bus) -> Vec<u64> {
        let page = bus.read("known", 0, 0, prom_store::ReadLimit::default()).await.unwrap();
        page.events.iter().map(|event| event.payload::<serde_json::Value>().unwrap()["n"].as_u64().unwrap()).collect()
    }

    #[tokio::test]
    async fn a_bad_row_stops_its_key_and_nothing_else() {
        let bus = bus().await;
        let rows: Vec<OutboxRow> = vec![
            row(0, "known", Some("a")),
            row(1, "known", Some("b")),
            row(2, "unknown", Some("a")),
            row(3, "known", Some("a")),
            row(4, "No Topic", Some("b")),
            row(5, "known", Some("b")),
            row(6, "known", Some("c")),
            row(7, "unknown", None),
            row(8, "known", None),
        ];
        let published = publish(&bus, RULES, "t", &rows).await;
        assert_eq!((letters(&published).as_str(), published.trouble), ("sslwnwsls", None));
        assert_eq!(stored(&bus).await, [0, 1, 6, 8]);
    }

    #[tokio::test]
    async fn rows_behind_one_in_error_go_where_that_is_configured() {
        let bus = bus().await;
        let rules = RowRules { on_error: OnError::Skip, max_attempts: 1 };
        let rows = vec![row(0, "unknown", Some("a")), row(1, "No Topic", Some("a")), row(2, "known", Some("a"))];
        assert_eq!(letters(&publish(&bus, rules, "t", &rows).await), "lns");
        // Here it is tried again first.
        let patient = RowRules { max_attempts: 2, ..rules };
        let rows = vec![row(3, "unknown", Some("a")), row(4, "known", Some("a"))];
        assert_eq!(letters(&publish(&bus, patient, "t", &rows).await), "lw");
    }

    #[tokio::test]
    async fn rows_that_were_published_before_are_not_stored_again() {
        let bus = bus().await;
        let rows: Vec<OutboxRow> = (0..20).map(|n| row(n, "known", Some("a"))).collect();
        assert_eq!(letters(&publish(&bus, RULES, "t", &rows[..10]).await), "s".repeat(10));
        let again = publish(&bus, RULES, "t", &rows).await;
        assert_eq!(letters(&again), "b".repeat(10) + &"s".repeat(10));
        assert_eq!(stored(&bus).await, (0..20).collect::<Vec<u64>>());
    }

    #[tokio::test]
    async fn a_bus_that_cannot_publish_is_no_fault_of_a_row() {
        let bus = bus().await;
        bus.shutdown().await.unwrap();
        let published = publish(&bus, RULES, "t", &[row(0, "known", None)]).await;
        assert_eq!(letters(&published), "w");
        assert!(published.trouble.is_some());
    }
}
