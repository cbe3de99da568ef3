//! The parameters of all routes. Clients write `true` in any case and send what a route does not need.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::request::Parts;

use crate::http::api::Api;

/// What a request says beside its path. What cannot be read counts as not said.
#[derive(Debug, Default)]
pub struct ConfluentQuery {
    pub deleted: bool,
    pub deleted_only: bool,
    pub permanent: bool,
    pub verbose: bool,
    pub default_to_global: bool,
    pub subject_prefix: Option<String>,
    offset: usize,
    limit: Option<usize>,
}

impl FromRequestParts<Arc<Api>> for ConfluentQuery {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Api>) -> Result<Self, Infallible> {
        Ok(Self::read(parts.uri.query().unwrap_or_default()))
    }
}

impl ConfluentQuery {
    fn read(query: &str) -> Self {
        let mut read = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let is_on = value.eq_ignore_ascii_case("true");
            match &*name {
                "deleted" => read.deleted = is_on,
                "deletedOnly" | "deleted_only" => read.deleted_only = is_on,
                "permanent" => read.permanent = is_on,
                "verbose" => read.verbose = is_on,
                "defaultToGlobal" => read.default_to_global = is_on,
                "subjectPrefix" => read.subject_prefix = Some(value.into_owned()),
                "offset" => read.offset = value.parse().unwrap_or(0),
                // -1 is all.
                "limit" => read.limit = value.parse().ok(),
                _ => {}
            }
        }
        read
    }

    /// Whether something is wanted, by whether it is deleted.
    pub fn wants(&self, deleted: bool) -> bool {
        if self.deleted_only { deleted } else { self.deleted || !deleted }
    }

    /// The part of a list that was asked for.
    pub fn page<T>(&self, list: impl Iterator<Item = T>) -> Vec<T> {
        list.skip(self.offset).take(self.limit.unwrap_or(usize::MAX)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_read_as_python_and_java_write_them() {
        let read = ConfluentQuery::read("deleted=True&permanent=true&verbose=False&offset=1&limit=-1&format=&x");
        assert!(read.deleted && read.permanent && !read.verbose);
        assert_eq!(read.page([1, 2, 3].into_iter()), [2, 3]);
        assert_eq!(ConfluentQuery::read("limit=1").page([1, 2].into_iter()), [1]);
        let only = ConfluentQuery::read("deleted_only=true");
        assert!(only.wants(true) && !only.wants(false));
        assert!(!ConfluentQuery::default().wants(true));
    }
}
