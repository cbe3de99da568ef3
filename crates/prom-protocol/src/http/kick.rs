//! `POST /groups/{group}/kick` ends the subscriptions of one member.

use prom_types::GroupName;
use serde::{Deserialize, Serialize};

/// The body of `POST /groups/{group}/kick`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct KickMember {
    /// As `GET /groups/{group}` names it.
    pub member: String,
}

/// The answer to `POST /groups/{group}/kick`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KickedMemberView {
    pub group: GroupName,
    pub member: String,
    /// Subscriptions that ended.
    pub subscriptions: u64,
    /// Events that it held and that went back.
    pub returned: u64,
}
