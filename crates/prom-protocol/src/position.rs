//! A position as requests write it: `from`, and the field that belongs to it.
//!
//! SUBSCRIBE, `GET /replay`, `POST /cursors` and the command line share this form. `from` may be left out where `ts`,
//! `afterId` or `offset` says it alone.

use prom_types::{EventId, Position};
use serde::{Deserialize, Deserializer, Serialize};

/// Where to begin, field by field.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema, utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(rename_all = "camelCase")]
pub struct PositionFields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<StartFrom>,
    /// With `from: ts`: the first event stored at or after this, in epoch milliseconds.
    #[serde(default, deserialize_with = "ts", skip_serializing_if = "Option::is_none")]
    pub ts: Option<i64>,
    /// With `from: afterId`: the events after this one.
    #[serde(default, deserialize_with = "after_id", skip_serializing_if = "Option::is_none")]
    pub after_id: Option<EventId>,
    /// With `from: offset`: in every partition.
    #[serde(default, deserialize_with = "offset", skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// The kinds of positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum StartFrom {
    Latest,
    Earliest,
    Ts,
    AfterId,
    Offset,
}

/// Fields that do not make a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PositionError {
    #[error("is missing; `from` needs it")]
    Missing { field: &'static str },
    #[error("is missing; it says which of `ts`, `afterId` and `offset` counts")]
    Ambiguous,
}

impl PositionError {
    /// The field at fault.
    pub fn field(self) -> &'static str {
        match self {
            Self::Missing { field } => field,
            Self::Ambiguous => "from",
        }
    }
}

impl PositionFields {
    /// `None` if nothing was said.
    pub fn position(&self) -> Result<Option<Position>, PositionError> {
        let from = match (self.from, self.ts, self.after_id, self.offset) {
            (Some(from), ..) => from,
            (None, Some(_), None, None) => StartFrom::Ts,
            (None, None, Some(_), None) => StartFrom::AfterId,
            (None, None, None, Some(_)) => StartFrom::Offset,
            (None, None, None, None) => return Ok(None),
            _ => return Err(PositionError::Ambiguous),
        };
        let missing = |field| PositionError::Missing { field };
        Ok(Some(match from {
            StartFrom::Latest => Position::Latest,
            StartFrom::Earliest => Position::Earliest,
            StartFrom::Ts => Position::StoredAt(self.ts.ok_or(missing("ts"))?),
            StartFrom::AfterId => Position::AfterId(self.after_id.ok_or(missing("afterId"))?),
            StartFrom::Offset => Position::Offset(self.offset.ok_or(missing("offset"))?),
        }))
    }
}

impl From<Position> for PositionFields {
    fn from(position: Position) -> Self {
        let of = |from| Self { from: Some(from), ..Self::default() };
        match position {
            Position::Latest => of(StartFrom::Latest),
            Position::Earliest => of(StartFrom::Earliest),
            Position::StoredAt(ts) => Self { ts: Some(ts), ..of(StartFrom::Ts) },
            Position::AfterId(id) => Self { after_id: Some(id), ..of(StartFrom::AfterId) },
            Position::Offset(offset) => Self { offset: Some(offset), ..of(StartFrom::Offset) },
        }
    }
}

// Errors inside a flattened struct do not name the field by themselves.

fn ts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    named("ts", deserializer)
}

fn after_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<EventId>, D::Error> {
    named("afterId", deserializer)
}

fn offset<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    named("offset", deserializer)
}

fn named<'de, D: Deserializer<'de>, T: Deserialize<'de>>(name: &str, deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer).map_err(|error| serde::de::Error::custom(format_args!("{name}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0190163d-8694-739b-aea5-966c26f8ad91";

    #[test]
    fn every_position_is_written_and_read_back() {
        let id = EventId::parse(ID).unwrap();
        for (position, text) in [
            (Position::Latest, r#"{"from":"latest"}"#),
            (Position::Earliest, r#"{"from":"earliest"}"#),
            (Position::StoredAt(-5), r#"{"from":"ts","ts":-5}"#),
            (Position::Offset(7), r#"{"from":"offset","offset":7}"#),
            (Position::AfterId(id), &format!(r#"{{"from":"afterId","afterId":"{ID}"}}"#)),
        ] {
            let fields = PositionFields::from(position);
            assert_eq!(serde_json::to_string(&fields).unwrap(), text);
            assert_eq!(serde_json::from_str::<PositionFields>(text).unwrap(), fields);
            assert_eq!(fields.position(), Ok(Some(position)));
            // The field alone says it too.
            let alone = PositionFields { from: None, ..fields };
            let said = !matches!(position, Position::Latest | Position::Earliest);
            assert_eq!(alone.position(), Ok(said.then_some(position)));
        }
    }

    #[test]
    fn what_is_missing_or_too_much_is_named() {
        let read = |text: &str| serde_json::from_str::<PositionFields>(text).unwrap().position();
        for field in ["ts", "afterId", "offset"] {
            assert_eq!(read(&format!(r#"{{"from":"{field}"}}"#)), Err(PositionError::Missing { field }));
        }
        assert_eq!(read(r#"{"ts":1,"offset":2}"#), Err(PositionError::Ambiguous));
        assert_eq!(read(r#"{"from":"ts","ts":1,"offset":2}"#), Ok(Some(Position::StoredAt(1))));
        for (text, field) in [(r#"{"offset":-1}"#, "offset: "), (r#"{"afterId":"x"}"#, "afterId: ")] {
            let error = serde_json::from_str::<PositionFields>(text).unwrap_err().to_string();
            assert!(error.starts_with(field), "{error}");
        }
    }
}
