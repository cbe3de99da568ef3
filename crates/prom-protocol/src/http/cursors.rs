//! `GET /cursors` shows where the groups of a topic stand, `POST /cursors` moves one of them.

use prom_types::{EventId, GroupName, TopicName};
use serde::{Deserialize, Serialize};

use crate::position::PositionFields;

/// The query of `GET /cursors`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct CursorQuery {
    pub topic: TopicName,
    /// Only this group.
    pub group: Option<GroupName>,
}

/// The cursors of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CursorList {
    pub topic: TopicName,
    pub cursors: Vec<CursorView>,
}

/// Where a group stands in one partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct CursorView {
    pub group: GroupName,
    pub partition: u32,
    /// The floor: everything before it is settled.
    pub offset: u64,
    /// The last event before the floor, if it is still there.
    pub last_id: Option<EventId>,
    pub last_ts: Option<i64>,
    /// How many offsets above the floor are settled.
    pub acked_above: u64,
}

/// The body of `POST /cursors`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SetCursor {
    pub topic: TopicName,
    pub group: GroupName,
    /// All partitions unless given. An offset needs one where the topic has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<u32>,
    /// Only tell what the move would do.
    #[serde(rename = "dryRun", default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Where the group has to stand for the move, as a preview said. If it stands elsewhere in one of these partitions, nothing
    /// is moved in any, and the answer is 409 `conflict`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub expect: Vec<ExpectedFloor>,
    #[serde(flatten)]
    pub position: PositionFields,
}

/// Where a group has to stand in one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ExpectedFloor {
    pub partition: u32,
    /// The floor, as `before` of a preview.
    pub before: u64,
}

/// The answer to `POST /cursors`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct MovedCursors {
    pub topic: TopicName,
    pub group: GroupName,
    /// Whether nothing was moved, because only the preview was asked for.
    pub dry_run: bool,
    pub cursors: Vec<MovedCursor>,
}

/// What the move does, or would do, in one partition. Events that are gone count as events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct MovedCursor {
    pub partition: u32,
    /// The floor until now.
    pub before: u64,
    /// The new floor; it goes on at once over what is settled there.
    pub offset: u64,
    /// Settled events that are delivered again.
    pub come_again: u64,
    /// Unsettled events that are not delivered any more.
    pub skipped: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_is_written_flat_and_read_back() {
        let text = r#"{"topic":"a.b","group":"g","partition":1,"from":"offset","offset":7}"#;
        let request: SetCursor = serde_json::from_str(text).unwrap();
        assert_eq!(request.position.offset, Some(7));
        let expects = r#"{"topic":"a.b","group":"g","expect":[{"partition":0,"before":2}],"from":"earliest"}"#;
        let request_back: SetCursor = serde_json::from_str(expects).unwrap();
        assert_eq!(serde_json::to_string(&request_back).unwrap(), expects);
        assert_eq!(serde_json::to_string(&request).unwrap(), text);
    }

    #[test]
    fn a_misspelt_field_moves_nothing() {
        for (wrong, named) in [
            (r#"{"topic":"a","group":"g","partitoin":1,"from":"earliest"}"#, "partitoin"),
            (r#"{"topic":"a","group":"g","offset":-1}"#, "offset"),
            (r#"{"topic":"a","from":"earliest"}"#, "group"),
            (r#"{"topic":"a","group":"g","from":"earliest","expect":[{"partition":0,"befor":2}]}"#, "befor"),
        ] {
            let error = serde_json::from_str::<SetCursor>(wrong).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
