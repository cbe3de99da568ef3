//! Searching by an index: a program that asks whether an indexed expression equals a plain value.

use prom_engine::{Bus, FoundEvents, Search, StoredEvent};
use prom_types::{EpochMs, Offset, TopicName};

use super::value::hash_of;
use super::{ENTRIES, IndexName, IndexOf, Indexes, none_if_unknown};
use crate::JobError;
use crate::letters::letters_of;
use crate::limits::{INDEX_AT_ONCE, INDEX_CANDIDATES};

/// What was found by an index.
#[derive(Debug)]
pub struct IndexedPage {
    /// The expression of the index.
    pub expression: String,
    /// As of any search, but for `next`.
    pub page: FoundEvents,
    /// Where the next page begins; `None` at the end.
    pub next: Option<String>,
}

/// An entry, behind the value.
pub(super) struct IndexedPlace {
    pub stored_ts: EpochMs,
    pub partition: u32,
    pub offset: Offset,
    pub text: String,
}

impl Indexes {
    /// Answers a search by an index, if its program (`jq`) is `EXPRESSION == VALUE` with an expression that the topic declares, and
    /// the index is exact. `next` is what an earlier page of this gave.
    pub async fn search(
        &self,
        bus: &Bus,
        search: &Search,
        jq: &str,
        next: Option<&str>,
    ) -> Result<Option<IndexedPage>, JobError> {
        // An index knows what is hidden.
        if search.mask.is_some() {
            return Ok(None);
        }
        let Some((expression, prefix)) = self.entries_of(bus, &search.topic, IndexOf::Event, jq).await? else {
            return Ok(None);
        };
        let (page, next) = follow(bus, search, &prefix, next).await?;
        Ok(Some(IndexedPage { expression, page, next }))
    }

    /// The expression of the exact index that answers a program, and what its entries begin with; `None` where there is none.
    /// `topic` is the one that declares the expression.
    pub(super) async fn entries_of(
        &self,
        bus: &Bus,
        topic: &TopicName,
        of: IndexOf,
        jq: &str,
    ) -> Result<Option<(String, String)>, JobError> {
        let Some(settings) = none_if_unknown(bus.topic_settings(topic).await)? else { return Ok(None) };
        let asked = settings.index.iter().find_map(|expression| Some((expression, equals(jq, expression)?)));
        let Some((expression, value)) = asked else { return Ok(None) };
        let Some(value) = hash_of(value.as_bytes()) else { return Ok(None) };
        let letters = match of {
            IndexOf::Event => None,
            IndexOf::Original => Some(letters_of(topic)?),
        };
        let name = IndexName { topic: letters.as_ref().unwrap_or(topic), expression, of };
        if !self.open(bus, &name).await?.is_exact().await? {
            return Ok(None);
        }
        Ok(Some((expression.clone(), format!("{}{value:032x}/", name.prefix()))))
    }
}

/// The literal that a program compares an expression with, if that is all it does. What is no plain path has to stand in
/// parentheses: otherwise `==` might bind to a part of it.
fn equals<'p>(program: &'p str, expression: &str) -> Option<&'p str> {
    let (program, expression) = (program.trim(), expression.trim());
    let in_parentheses = format!("({expression})");
    let is_path =
        expression.starts_with('.') && expression.bytes().all(|b| b.is_ascii_alphanumeric() || b"._[]".contains(&b));
    let plain = Some(expression).filter(|_| is_path);
    let literal = [Some(in_parentheses.as_str()), plain].into_iter().flatten().find_map(|side| {
        let behind = program.strip_prefix(side).and_then(|rest| rest.trim_start().strip_prefix("=="));
        behind.or_else(|| program.strip_suffix(side).and_then(|rest| rest.trim_end().strip_suffix("==")))
    });
    let literal = literal?.trim();
    let is_literal = serde_json::from_str::<&serde_json::value::RawValue>(literal).is_ok();
    // A string of jq may hold programs: "\(…)".
    (is_literal && !literal.contains("\\(")).then_some(literal)
}

async fn follow(
    bus: &Bus,
    search: &Search,
    prefix: &str,
    next: Option<&str>,
) -> Result<(FoundEvents, Option<String>), JobError> {
    let mut page = FoundEvents::default();
    let begin = search.to_ts.map(|ts| format!("{:016x}", u64::MAX - ts.max(0).unsigned_abs()));
    let mut after = format!("{prefix}{}", next.or(begin.as_deref()).unwrap_or_default());
    loop {
        let documents = bus.documents(ENTRIES, Some(&after), INDEX_AT_ONCE).await?;
        let is_last = documents.len() < INDEX_AT_ONCE;
        let keys = documents.iter().map_while(|document| document.key.strip_prefix(prefix));
        let entries: Vec<IndexedPlace> = keys.filter_map(IndexedPlace::read).collect();
        let is_over = is_last || entries.len() < documents.len();
        let in_time = |entry: &&IndexedPlace| search.from_ts.is_none_or(|from| entry.stored_ts >= from);
        let wanted: Vec<&IndexedPlace> = entries.iter().take_while(in_time).collect();
        let is_over = is_over || wanted.len() < entries.len();
        let mut candidates: Vec<StoredEvent> = Vec::with_capacity(wanted.len());
        for entry in &wanted {
            candidates.extend(bus.event_at(&search.topic, entry.partition, entry.offset).await?);
        }
        let matched = bus.matching(&search.criteria, candidates).await?;
        page.scanned += wanted.len() as u64;
        for event in matched {
            if page.events.len() >= search.limit {
                let last = page.events.last().map(place_text);
                return Ok((page, last));
            }
            page.events.push(event);
        }
        let Some(last) = wanted.last().filter(|_| !is_over) else { return Ok((page, None)) };
        if page.scanned >= INDEX_CANDIDATES {
            let last = last.text.clone();
            return Ok((page, Some(last)));
        }
        after = format!("{prefix}{}", last.text);
    }
}

fn place_text(event: &StoredEvent) -> String {
    super::place(event)
}

impl IndexedPlace {
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let mut part = || u64::from_str_radix(parts.next()?, 16).ok();
        let (stored, partition, offset) = (part()?, part()?, part()?);
        Some(Self {
            stored_ts: EpochMs::try_from(u64::MAX - stored).ok()?,
            partition: u32::try_from(partition).ok()?,
            offset: u64::MAX - offset,
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_equality_with_a_literal_is_answered() {
        for (program, literal) in [
            (".payload.a == 7", Some("7")),
            (" .payload.a==\"x y\" ", Some("\"x y\"")),
            ("7 == .payload.a", Some("7")),
            (".payload.a == 7 or true", None),
            (".payload.ab == 7", None),
            (".payload.a == .payload.b", None),
            (".payload.a != 7", None),
            (".payload.a == \"\\(.payload.b)\"", None),
            (".payload.a", None),
            ("1 + 7 == .payload.a", None),
        ] {
            assert_eq!(equals(program, ".payload.a"), literal, "{program}");
        }
        assert_eq!(equals("(.a, .b) == 7", ".a, .b"), Some("7"));
        assert_eq!(equals(".a, .b == 7", ".a, .b"), None);
    }
}
