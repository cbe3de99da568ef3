//! Where all events of a value lie: for those who want every one of them, in the order of the topic.

use prom_engine::Bus;
use prom_types::{EpochMs, Offset, TopicName};

use super::query::IndexedPlace;
use super::{ENTRIES, IndexOf, Indexes};
use crate::JobError;
use crate::limits::INDEX_AT_ONCE;

/// Which places are meant.
#[derive(Debug, Clone, Copy)]
pub struct PlacesAsked<'a> {
    /// The topic that declares the index.
    pub topic: &'a TopicName,
    /// The program, which the index has to answer.
    pub jq: &'a str,
    /// Only what was stored at or after this.
    pub from_ts: Option<EpochMs>,
    /// Only what was stored at or before this.
    pub to_ts: Option<EpochMs>,
    /// Where more are found than this, the index is not worth following.
    pub most: usize,
}

/// Where events of one value lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedPlaces {
    /// The expression of the index.
    pub expression: String,
    /// Partition and offset, in order. An event may be gone meanwhile, and has to be looked at: its value may only be much alike.
    pub places: Vec<(u32, Offset)>,
}

impl Indexes {
    /// Where the events lie that a program (`EXPRESSION == VALUE`) takes, if a declared index answers it and is exact.
    pub async fn places(&self, bus: &Bus, asked: PlacesAsked<'_>) -> Result<Option<IndexedPlaces>, JobError> {
        self.places_of(bus, IndexOf::Event, asked).await
    }

    /// As [`Indexes::places`], among the topic's dead letters: the places are those of the letters, the program reads originals.
    pub async fn letter_places(&self, bus: &Bus, asked: PlacesAsked<'_>) -> Result<Option<IndexedPlaces>, JobError> {
        self.places_of(bus, IndexOf::Original, asked).await
    }

    async fn places_of(
        &self,
        bus: &Bus,
        of: IndexOf,
        asked: PlacesAsked<'_>,
    ) -> Result<Option<IndexedPlaces>, JobError> {
        let PlacesAsked { topic, jq, from_ts, to_ts, most } = asked;
        let Some((expression, prefix)) = self.entries_of(bus, topic, of, jq).await? else { return Ok(None) };
        let mut places = Vec::new();
        let begin = to_ts.map(|ts| format!("{:016x}", u64::MAX - ts.max(0).unsigned_abs()));
        let mut after = format!("{prefix}{}", begin.unwrap_or_default());
        loop {
            let documents = bus.documents(ENTRIES, Some(&after), INDEX_AT_ONCE).await?;
            let keys = documents.iter().map_while(|document| document.key.strip_prefix(&prefix));
            let entries = keys.filter_map(IndexedPlace::read);
            let wanted: Vec<IndexedPlace> =
                entries.take_while(|entry| from_ts.is_none_or(|from| entry.stored_ts >= from)).collect();
            places.extend(wanted.iter().map(|entry| (entry.partition, entry.offset)));
            if places.len() > most {
                return Ok(None);
            }
            match wanted.last() {
                Some(last) if wanted.len() == INDEX_AT_ONCE => after = format!("{prefix}{}", last.text),
                _ => break,
            }
        }
        places.sort_unstable();
        Ok(Some(IndexedPlaces { expression, places }))
    }
}
