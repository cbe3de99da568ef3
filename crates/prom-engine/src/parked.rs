//! Which keys of a group are parked, and behind what.

use prom_store::{CursorName, LogName};
use prom_types::{EpochMs, EventId, GroupName, Offset, TopicName};

use crate::limits::{DOCUMENTS_AT_ONCE, PARKED_LETTERS_COUNTED};
use crate::set_aside::{self, ParkedKeyDocument, ParkedLetter};
use crate::{Bus, Error};

/// A parked key of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedKeyInfo {
    /// The partition.
    pub partition: u32,
    /// The key.
    pub key: String,
    /// Since when.
    pub since: EpochMs,
    /// The event that failed last.
    pub behind: EventId,
    /// The offset of the event whose turn it is.
    pub first: Option<Offset>,
    /// That event was given back.
    pub waiting: bool,
    /// Its letters that are neither settled nor dropped, counted up to a thousand.
    pub letters: u64,
}

/// Where the next page of parked keys begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedAfter {
    /// The partition.
    pub partition: u32,
    /// The hash of the last key.
    pub hash: u64,
}

/// A page of parked keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParkedPage {
    /// In no particular order.
    pub keys: Vec<ParkedKeyInfo>,
    /// Where the next page begins; `None` after the last.
    pub next: Option<ParkedAfter>,
}

impl Bus {
    /// The parked keys of a group in a topic, partition by partition.
    pub async fn parked_keys(
        &self,
        topic: &str,
        group: &str,
        after: Option<ParkedAfter>,
        limit: usize,
    ) -> Result<ParkedPage, Error> {
        let reading = self.reading(topic, group).await?;
        let limit = limit.clamp(1, DOCUMENTS_AT_ONCE);
        let mut page = ParkedPage::default();
        for log in reading.topic.logs() {
            let within = match &after {
                Some(after) if log.partition < after.partition => continue,
                Some(after) if log.partition == after.partition => Some(after.hash),
                _ => None,
            };
            let gate = gate_of(log, &reading.group);
            for (hash, document) in self.keys_behind(&gate, within, limit - page.keys.len()).await? {
                let key = self.parked_key(&gate, log.partition, hash, document).await?;
                page.next = Some(ParkedAfter { partition: key.partition, hash });
                page.keys.push(key);
            }
            if page.keys.len() >= limit {
                return Ok(page);
            }
        }
        page.next = None;
        Ok(page)
    }

    /// Parked keys of a group in all its topics, at most `limit`.
    pub async fn parked_in_group(&self, group: &str, limit: usize) -> Result<Vec<(TopicName, ParkedKeyInfo)>, Error> {
        let group = GroupName::parse(group)?;
        let (mut keys, mut after) = (Vec::new(), None);
        loop {
            // One for each cursor with something set aside.
            let gates = self.store().documents(set_aside::GATES, after.as_deref(), DOCUMENTS_AT_ONCE).await?;
            for gate in &gates {
                let Some(log) = set_aside::log_of(&gate.key, &group) else {
                    continue;
                };
                for (hash, document) in self.keys_behind(&gate.key, None, limit - keys.len()).await? {
                    let key = self.parked_key(&gate.key, log.partition, hash, document).await?;
                    keys.push((log.topic.clone(), key));
                }
                if keys.len() >= limit {
                    return Ok(keys);
                }
            }
            match gates.last() {
                Some(last) if gates.len() == DOCUMENTS_AT_ONCE => after = Some(last.key.clone()),
                _ => return Ok(keys),
            }
        }
    }

    /// How many keys of a partition are parked.
    pub(crate) async fn count_parked(&self, log: &LogName, group: &GroupName) -> Result<u64, Error> {
        let gate = gate_of(log, group);
        let (mut count, mut after) = (0, None);
        loop {
            let page = self.keys_behind(&gate, after, DOCUMENTS_AT_ONCE).await?;
            count += page.len() as u64;
            match page.last() {
                Some((hash, _)) if page.len() == DOCUMENTS_AT_ONCE => after = Some(*hash),
                _ => return Ok(count),
            }
        }
    }

    async fn keys_behind(
        &self,
        gate: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<(u64, ParkedKeyDocument)>, Error> {
        let after = after.map_or_else(|| format!("{gate}/"), |hash| set_aside::parked_key_key(gate, hash));
        let documents = self.store().documents(set_aside::KEYS, Some(&after), limit).await?;
        let mut keys = Vec::with_capacity(documents.len());
        for document in documents {
            let Some(hash) = set_aside::hash_below(gate, &document.key) else {
                break;
            };
            keys.push((hash, set_aside::read(set_aside::KEYS, &document)?));
        }
        Ok(keys)
    }

    async fn parked_key(
        &self,
        gate: &str,
        partition: u32,
        hash: u64,
        document: ParkedKeyDocument,
    ) -> Result<ParkedKeyInfo, Error> {
        let name = set_aside::parked_key_key(gate, hash);
        let from = set_aside::behind(&name, None);
        let parked = self.store().documents(set_aside::PARKED, Some(&from), PARKED_LETTERS_COUNTED).await?;
        let offsets = parked.iter().map_while(|one| set_aside::offset_below(&name, &one.key));
        let (mut offsets, letters) = (offsets.clone(), offsets.count() as u64);
        let first = offsets.next();
        let waiting = match parked.first().filter(|_| first.is_some()) {
            Some(first) => set_aside::read::<ParkedLetter>(set_aside::PARKED, first)?.given,
            None => false,
        };
        let ParkedKeyDocument { key, behind, since, .. } = document;
        Ok(ParkedKeyInfo { partition, key, since, behind, first, waiting, letters })
    }
}

fn gate_of(log: &LogName, group: &GroupName) -> String {
    set_aside::gate_key(&CursorName::new(log.clone(), group.clone()))
}
