//! `--from`: where reading begins, as it is written on the command line.

use std::str::FromStr;

use prom_client::Position;
use prom_types::{EpochMs, EventId, Offset};
use serde::Serialize;
use serde::ser::SerializeMap;

use crate::moment;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartFrom {
    Latest,
    Earliest,
    Ts(EpochMs),
    After(EventId),
    Offset(Offset),
}

impl FromStr for StartFrom {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, value) = text.split_once(':').map_or((text, None), |(kind, value)| (kind, Some(value)));
        match (kind, value) {
            ("latest", None) => Ok(Self::Latest),
            ("earliest", None) => Ok(Self::Earliest),
            ("ts", Some(value)) => moment::parse(value).map(Self::Ts),
            ("after", Some(value)) => EventId::parse(value).map(Self::After).map_err(|error| error.to_string()),
            ("offset", Some(value)) => {
                value.parse().map(Self::Offset).map_err(|_| format!("`{value}` is not an offset; it is 0, 1, 2…"))
            }
            _ => Err(format!("`{text}` is not one of latest, earliest, ts:TIME, after:ID, offset:N")),
        }
    }
}

impl StartFrom {
    /// In the words of the client.
    pub fn position(self) -> Position {
        match self {
            Self::Latest => Position::Latest,
            Self::Earliest => Position::Earliest,
            Self::Ts(ts) => Position::StoredAt(ts),
            Self::After(id) => Position::AfterId(id),
            Self::Offset(offset) => Position::Offset(offset),
        }
    }
}

/// The members `from`, `ts`, `afterId` and `offset` of a request.
impl Serialize for StartFrom {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Latest => map.serialize_entry("from", "latest")?,
            Self::Earliest => map.serialize_entry("from", "earliest")?,
            Self::Ts(ts) => {
                map.serialize_entry("from", "ts")?;
                map.serialize_entry("ts", ts)?;
            }
            Self::After(id) => {
                map.serialize_entry("from", "afterId")?;
                map.serialize_entry("afterId", &id.to_string())?;
            }
            Self::Offset(offset) => {
                map.serialize_entry("from", "offset")?;
                map.serialize_entry("offset", offset)?;
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_is_read_and_becomes_a_request() {
        for (text, request) in [
            ("latest", r#"{"from":"latest"}"#),
            ("earliest", r#"{"from":"earliest"}"#),
            ("ts:1700000000000", r#"{"from":"ts","ts":1700000000000}"#),
            ("offset:7", r#"{"from":"offset","offset":7}"#),
            (
                "after:0190163d-8694-739b-aea5-966c26f8ad91",
                r#"{"from":"afterId","afterId":"0190163d-8694-739b-aea5-966c26f8ad91"}"#,
            ),
        ] {
            let from: StartFrom = text.parse().unwrap();
            assert_eq!(serde_json::to_string(&from).unwrap(), request);
        }
        for bad in ["", "later", "latest:1", "ts", "ts:soon", "after:1", "offset:-1", "offset:"] {
            assert!(bad.parse::<StartFrom>().is_err(), "{bad:?} passed");
        }
    }
}
