//! Listing a collection: in the order of keys, filtered by declared fields, with an exact count.
//!
//! Promises: at most [`LIST_OFFSET`] documents are passed over, and of several filters at most [`LIST_SCAN`] entries are looked
//! at; what would need more is refused and says what to ask instead. The count and the documents are of one moment, or the list
//! is read again.

use bytes::Bytes;
use prom_engine::{Bus, Error};
use prom_store::Document;

use super::field::{BETWEEN, prefix};
use super::write::count_in;
use super::{Collection, FieldFilter};
use crate::JobError;
use crate::limits::{DOCUMENTS_BYTES, FIRST_DOCUMENTS, LIST_BYTES, LIST_OFFSET, LIST_SCAN, LIST_TRIES, MOST_DOCUMENTS};

/// Where a list begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListFrom {
    /// Behind so many.
    Offset(u64),
    /// Behind this key.
    After(String),
}

/// A part of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionPage {
    /// How many documents match in all.
    pub count: u64,
    /// In the order of their keys, as they are stored.
    pub documents: Vec<Bytes>,
    /// The key of the last one, where there may be more.
    pub next: Option<String>,
}

/// Keys of documents in a stored collection, from a place on.
struct Walk<'a> {
    bus: &'a Bus,
    collection: String,
    /// Only keys that begin with this.
    prefix: String,
    /// `None` before the first key of all.
    after: Option<String>,
    at_once: usize,
    waiting: std::vec::IntoIter<Document>,
    at_end: bool,
}

impl Collection {
    /// Documents that match all filters. The collection itself is read again where it changed meanwhile.
    pub async fn list(
        mut self,
        bus: &Bus,
        filters: &[FieldFilter],
        from: &ListFrom,
        limit: usize,
    ) -> Result<CollectionPage, JobError> {
        if let ListFrom::Offset(offset) = from
            && *offset > LIST_OFFSET
        {
            let reason = format!("at most {LIST_OFFSET} documents are passed over; go on with after=KEY instead");
            return Err(JobError::Field { name: "offset".to_owned(), reason });
        }
        for _ in 0..LIST_TRIES {
            let page = match filters {
                [] => self.all(bus, from, limit).await?,
                filters => self.matching(bus, filters, from, limit).await?,
            };
            match Self::open(bus, &self.name).await? {
                Some(now) if now.revision == self.revision => return Ok(page),
                Some(now) => self = now,
                None => break,
            }
        }
        Err(Error::Contended { what: format!("collection {}", self.name.as_str()) }.into())
    }

    async fn all(&self, bus: &Bus, from: &ListFrom, limit: usize) -> Result<CollectionPage, JobError> {
        let mut walk = Walk::new(bus, self.documents_in_store(), String::new(), from);
        walk.skip(from).await?;
        let mut page = CollectionPage { count: self.info.count, documents: Vec::new(), next: None };
        let (mut bytes, mut last) = (0, None);
        while let Some(document) = walk.next().await? {
            if page.documents.len() >= limit || bytes >= LIST_BYTES {
                page.next = last;
                break;
            }
            bytes += document.value.len();
            page.documents.push(document.value);
            last = Some(document.key);
        }
        Ok(page)
    }

    /// Walks the entries of the rarest value.
    async fn matching(
        &self,
        bus: &Bus,
        filters: &[FieldFilter],
        from: &ListFrom,
        limit: usize,
    ) -> Result<CollectionPage, JobError> {
        let [_, entries, counts] = self.name.parts_in_store(self.info.generation);
        let mut ranked = Vec::with_capacity(filters.len());
        for filter in filters {
            if !self.info.fields.contains_key(&filter.field) {
                return Err(self.undeclared(&filter.field));
            }
            let prefix = prefix(&filter.field, &filter.value);
            let stored = bus.document(&counts, &prefix).await?;
            ranked.push((count_in(stored.as_ref().map(|stored| &*stored.value)), prefix));
        }
        ranked.sort_unstable();
        ranked.dedup();
        let Some(((rarest, prefix), others)) = ranked.split_first() else {
            return self.all(bus, from, limit).await;
        };
        if others.is_empty() {
            let mut walk = Walk::new(bus, entries, prefix.clone(), from);
            walk.skip(from).await?;
            return self.page_of(&mut walk, prefix, *rarest, limit).await;
        }
        if *rarest > LIST_SCAN {
            let reason = format!(
                "{rarest} documents have the rarest of these values, and at most {LIST_SCAN} are compared with others; filter by \
                 one field"
            );
            return Err(JobError::Field { name: filters[0].field.clone(), reason });
        }
        self.intersection(bus, prefix, others, from, limit).await
    }

    async fn page_of(
        &self,
        walk: &mut Walk<'_>,
        prefix: &str,
        count: u64,
        limit: usize,
    ) -> Result<CollectionPage, JobError> {
        let mut page = CollectionPage { count, documents: Vec::new(), next: None };
        let (mut bytes, mut last) = (0, None);
        while let Some(entry) = walk.next().await? {
            if page.documents.len() >= limit || bytes >= LIST_BYTES {
                page.next = last;
                break;
            }
            let key = entry.key[prefix.len()..].to_owned();
            if let Some(document) = self.document(walk.bus, &key).await? {
                bytes += document.len();
                page.documents.push(document);
            }
            last = Some(key);
        }
        Ok(page)
    }

    async fn intersection(
        &self,
        bus: &Bus,
        prefix: &str,
        others: &[(u64, String)],
        from: &ListFrom,
        limit: usize,
    ) -> Result<CollectionPage, JobError> {
        let [_, entries, _] = self.name.parts_in_store(self.info.generation);
        let mut walk = Walk::new(bus, entries.clone(), prefix.to_owned(), &ListFrom::Offset(0));
        let mut keys = Vec::new();
        'entries: while let Some(entry) = walk.next().await? {
            let key = &entry.key[prefix.len()..];
            for (_, other) in others {
                if bus.document(&entries, &format!("{other}{key}")).await?.is_none() {
                    continue 'entries;
                }
            }
            keys.push(key.to_owned());
        }
        let begin = match from {
            ListFrom::Offset(offset) => usize::try_from(*offset).unwrap_or(usize::MAX).min(keys.len()),
            ListFrom::After(after) => keys.partition_point(|key| key <= after),
        };
        let mut page = CollectionPage { count: keys.len() as u64, documents: Vec::new(), next: None };
        let (mut bytes, mut last) = (0, None);
        for key in &keys[begin..] {
            if page.documents.len() >= limit || bytes >= LIST_BYTES {
                page.next = last;
                break;
            }
            if let Some(document) = self.document(bus, key).await? {
                bytes += document.len();
                page.documents.push(document);
            }
            last = Some(key.clone());
        }
        Ok(page)
    }

    fn undeclared(&self, field: &str) -> JobError {
        let names: Vec<&str> = self.info.fields.keys().map(String::as_str).collect();
        let reason = match names.as_slice() {
            [] => "this collection was filled without declared fields, so lists of it cannot be filtered".to_owned(),
            names => {
                format!("it is no declared field; lists of this collection can be filtered by {}", names.join(", "))
            }
        };
        JobError::Field { name: field.to_owned(), reason }
    }
}

impl<'a> Walk<'a> {
    fn new(bus: &'a Bus, collection: String, prefix: String, from: &ListFrom) -> Self {
        let after = match from {
            // Nothing sorts between a prefix without its last character and the prefix itself.
            ListFrom::Offset(_) => prefix.strip_suffix(BETWEEN).map(str::to_owned),
            ListFrom::After(key) => Some(format!("{prefix}{key}")),
        };
        let waiting = Vec::new().into_iter();
        Self { bus, collection, prefix, after, at_once: FIRST_DOCUMENTS, waiting, at_end: false }
    }

    async fn skip(&mut self, from: &ListFrom) -> Result<(), JobError> {
        if let ListFrom::Offset(offset) = from {
            for _ in 0..*offset {
                if self.next().await?.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn next(&mut self) -> Result<Option<Document>, JobError> {
        loop {
            if let Some(document) = self.waiting.next() {
                return Ok(document.key.starts_with(&self.prefix).then_some(document));
            }
            if self.at_end {
                return Ok(None);
            }
            let read = self.bus.documents(&self.collection, self.after.as_deref(), self.at_once).await?;
            self.at_end = read.len() < self.at_once;
            if let Some(last) = read.last() {
                self.after = Some(last.key.clone());
            }
            // Documents may be large: more are read at once only where they turn out to be small.
            let bytes: usize = read.iter().map(|document| document.value.len()).sum();
            self.at_once = match bytes {
                few if few < DOCUMENTS_BYTES / 4 => (self.at_once * 2).min(MOST_DOCUMENTS),
                many if many > DOCUMENTS_BYTES => (self.at_once / 2).max(1),
                _ => self.at_once,
            };
            self.waiting = read.into_iter();
        }
    }
}
