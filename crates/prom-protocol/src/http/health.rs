//! `GET /healthz` and `GET /readyz`.

use serde::{Deserialize, Serialize};

/// The process answers, or takes events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HealthAnswer {
    /// `ok`
    #[cfg_attr(feature = "openapi", schema(example = "ok"))]
    pub status: String,
}

impl HealthAnswer {
    pub fn ok() -> Self {
        Self { status: "ok".to_owned() }
    }
}
