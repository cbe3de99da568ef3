//! The state API: documents of public collections, one by its key or a list.
//!
//! Who may read the topic that fills a collection may read the collection. Those who may not are told the same, whether or not
//! it exists. Promises: an ETag is made of the text of the answer, so it changes exactly when that does; HEAD answers as GET
//! without the body; numbers leave digit by digit as they were stored.

pub(super) mod list;
pub(super) mod snap;

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};
use prom_auth::Action;
use prom_engine::TopicMask;
use prom_jobs::{Collection, CollectionForm, CollectionName};
use xxhash_rust::xxh3::xxh3_128;

use super::answer_share::HeldText;
use super::api::Api;
use super::budget::BodyShare;
use super::caller::Caller;
use super::problem::{Code, Problem};

/// Kept by the client, and asked about each time: an answer may change at any moment.
const MAY_BE_KEPT: &str = "private, no-cache";

async fn readable(api: &Api, caller: &Caller, name: &str) -> Result<Collection, Problem> {
    caller.may_somewhere(Action::Subscribe)?;
    let unknown = || {
        Problem::new(Code::UnknownId, format!("there is no collection {name}; a cutover or a projector creates one"))
    };
    let name = CollectionName::parse(name).map_err(|error| Problem::field("collection", error))?;
    match Collection::open(&api.hub.bus, &name).await? {
        Some(collection) if caller.may(Action::Subscribe, &collection.info.topic).is_ok() => Ok(collection),
        None if caller.may_everywhere(Action::Subscribe).is_ok() => Err(unknown()),
        _ => Err(caller.forbidden(Action::Subscribe, &format!("the topic that fills collection {}", name.as_str()))),
    }
}

/// What is hidden of a collection's documents. Where a projector made them, a hidden part may be anywhere in them: then only those
/// who see all of the topic read them.
async fn mask(api: &Api, caller: &Caller, collection: &Collection) -> Result<Option<Arc<TopicMask>>, Problem> {
    let topic = &collection.info.topic;
    match (caller.mask(&api.hub, topic).await?, collection.info.form) {
        (Some(_), CollectionForm::Projected) => {
            let name = collection.name.as_str();
            let detail = format!(
                "{name} is made from events of {topic}, which has a mask; only administrators of the topic may read it"
            );
            Err(Problem::new(Code::Forbidden, detail))
        }
        (mask, _) => Ok(mask),
    }
}

/// JSON with its ETag, or 304 where the client has it.
fn answer(asked: &HeaderMap, text: Vec<u8>, share: BodyShare) -> Response {
    let tag = format!("\"{:032x}\"", xxh3_128(&text));
    let headers = [
        (ETAG, HeaderValue::try_from(&tag).unwrap_or_else(|_| HeaderValue::from_static("\"\""))),
        (CACHE_CONTROL, HeaderValue::from_static(MAY_BE_KEPT)),
        (VARY, HeaderValue::from_static("authorization")),
    ];
    if is_known(asked, &tag) {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    (headers, [(CONTENT_TYPE, "application/json")], HeldText::new(text, share)).into_response()
}

/// Whether one of the tags in `If-None-Match` is this one. A weak one is compared like a strong one (RFC 9110, 13.1.2).
fn is_known(asked: &HeaderMap, tag: &str) -> bool {
    let lists = asked.get_all(IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
    let mut tags = lists.flat_map(|list| list.split(',')).map(str::trim);
    tags.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_found_in_lists_weak_or_strong() {
        for (list, known) in [
            ("\"a\"", true),
            ("W/\"a\"", true),
            ("\"b\", \"a\"", true),
            ("\"b\" , W/\"a\"", true),
            ("*", true),
            ("\"b\"", false),
            ("a", false),
            ("", false),
        ] {
            let mut asked = HeaderMap::new();
            asked.insert(IF_NONE_MATCH, HeaderValue::from_static(list));
            assert_eq!(is_known(&asked, "\"a\""), known, "{list}");
        }
        assert!(!is_known(&HeaderMap::new(), "\"a\""));
    }
}
