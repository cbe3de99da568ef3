//! How the keys of the database are made: a letter for the kind, then the parts in an order that
//! sorts as people list them.

use prom_store::{CursorName, LogName};
use prom_types::{EventId, GroupName, TopicName};

use crate::codec::Malformed;

/// The one key that says how far the database reaches.
pub(crate) const CHECKPOINT: &[u8] = b"m:checkpoint";
pub(crate) const FIRST_EPOCH: &[u8] = b"m:first-epoch";
pub(crate) const ALL_LOGS: &[u8] = b"l";
pub(crate) const ALL_CURSORS: &[u8] = b"c";

pub(crate) fn document(collection: &str, key: &str) -> Vec<u8> {
    joined(b'd', &[collection.as_bytes(), key.as_bytes()])
}

pub(crate) fn log(id: u32) -> Vec<u8> {
    joined(b'l', &[&id.to_be_bytes()])
}

pub(crate) fn cursor(name: &CursorName) -> Vec<u8> {
    let mut key = cursors_of(&name.log.topic);
    key.extend_from_slice(&name.log.partition.to_be_bytes());
    key.extend_from_slice(name.group.as_bytes());
    key
}

/// What the keys of a topic's cursors begin with.
pub(crate) fn cursors_of(topic: &TopicName) -> Vec<u8> {
    joined(b'c', &[topic.as_bytes(), b""])
}

pub(crate) fn parse_cursor(key: &[u8]) -> Result<CursorName, Malformed> {
    let key = key.strip_prefix(ALL_CURSORS).ok_or(Malformed)?;
    let end = key.iter().position(|&byte| byte == 0).ok_or(Malformed)?;
    let text = |bytes| std::str::from_utf8(bytes).map_err(|_| Malformed);
    let topic = TopicName::parse(text(&key[..end])?).map_err(|_| Malformed)?;
    let (partition, group) = key[end + 1..].split_first_chunk::<4>().ok_or(Malformed)?;
    let group = GroupName::parse(text(group)?).map_err(|_| Malformed)?;
    Ok(CursorName::new(LogName::new(topic, u32::from_be_bytes(*partition)), group))
}

/// Where the latest event of a key lies.
pub(crate) fn latest(log: u32, key: &str) -> Vec<u8> {
    joined(b'k', &[&log.to_be_bytes(), key.as_bytes()])
}

/// In which partition of the topic the event with an exact id lies, and where.
pub(crate) fn exact(topic: &TopicName, id: EventId) -> Vec<u8> {
    joined(b'x', &[topic.as_bytes(), id.as_bytes()])
}

/// Parts are joined by a zero byte, which no name contains.
fn joined(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + parts.iter().map(|part| part.len() + 1).sum::<usize>());
    key.push(kind);
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            key.push(0);
        }
        key.extend_from_slice(part);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_key_leads_back_to_its_name() {
        let log = LogName::new(TopicName::parse("a.b").unwrap(), 258);
        let name = CursorName::new(log, GroupName::parse("changelog:x").unwrap());
        assert_eq!(parse_cursor(&cursor(&name)), Ok(name));
    }
}
