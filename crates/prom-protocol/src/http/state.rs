//! `GET /list/{collection}`: documents of a collection. `GET /snap/{collection}/{key}` answers with the document itself.

use serde::{Deserialize, Serialize};

/// The query of `GET /list/{collection}`, beside declared fields of the collection (`<field>=<value>`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct ListQuery {
    /// At most this many documents, 1 to 1000; 100 unless given. Fewer come where they are large.
    pub limit: Option<usize>,
    /// Pass over so many, at most 10 000.
    pub offset: Option<u64>,
    /// Begin behind this key instead, which an earlier list gave as `next`.
    pub after: Option<String>,
}

/// A part of a collection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DocumentList {
    /// As it was asked for.
    pub offset: u64,
    pub limit: usize,
    /// Documents that match, in all.
    pub count: u64,
    /// In the order of their keys.
    pub items: Vec<serde_json::Value>,
    /// The key of the last item, where there are more: give it as `?after=`.
    pub next: Option<String>,
}
