//! `GET, HEAD /list/{collection}`: documents in the order of their keys, filtered by declared fields.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, Uri};
use prom_engine::TopicMask;
use prom_jobs::{CollectionInfo, CollectionPage, FieldFilter, ListFrom};
use prom_protocol::http::state::{DocumentList, ListQuery};

use crate::http::api::Api;
use crate::http::caller::Caller;
use crate::http::extract::Params;
use crate::http::limits::{LIST_ITEMS, LIST_MOST_ITEMS, LIST_READ_BYTES};
use crate::http::problem::{Code, Problem, Problems};

#[utoipa::path(
    get,
    path = "/list/{collection}",
    operation_id = "list",
    tag = "state",
    summary = "List documents of a collection",
    description = "`<field>=<value>` lists only documents whose declared field has this value; several must all hold. `count` is \
                   exact.",
    params(("collection" = String, Path), ListQuery),
    responses(
        (status = 200, description = "A page", body = DocumentList),
        (status = 304, description = "Nothing has changed"),
        Problems,
    ),
)]
pub(in crate::http) async fn get(
    State(api): State<Arc<Api>>,
    caller: Caller,
    headers: HeaderMap,
    uri: Uri,
    path: Result<Path<String>, PathRejection>,
    Params(ListQuery { limit, offset, after }): Params<ListQuery>,
) -> Result<Response, Problem> {
    let Path(name) = path?;
    let collection = super::readable(&api, &caller, &name).await?;
    let limit = limit.unwrap_or(LIST_ITEMS);
    if !(1..=LIST_MOST_ITEMS).contains(&limit) {
        return Err(Problem::field("limit", format_args!("must be between 1 and {LIST_MOST_ITEMS}")));
    }
    let passed_over = offset.unwrap_or(0);
    let from = match (offset, after) {
        (Some(_), Some(_)) => return Err(Problem::field("after", "give offset or after, not both")),
        (None, Some(after)) => ListFrom::After(after),
        (_, None) => ListFrom::Offset(passed_over),
    };
    let filters = filters(&uri);
    let mask = super::mask(&api, &caller, &collection).await?;
    if let Some(mask) = &mask {
        check_not_hidden(&collection.info, mask, &filters)?;
        check_not_moved(&api, &collection.info, &filters).await?;
    }
    let reading = api.budget.take(caller.holder(), LIST_READ_BYTES)?;
    let mut page = collection.list(&api.hub.bus, &filters, &from, limit).await?;
    if let Some(mask) = &mask {
        for document in &mut page.documents {
            if let Some(seen) = mask.seen_text(document) {
                *document = seen.into();
            }
        }
    }
    let bytes: usize = page.documents.iter().map(|document| document.len() + 1).sum();
    let share = api.budget.take(caller.holder(), bytes)?;
    drop(reading);
    Ok(super::answer(&headers, text_of(&page, passed_over, limit), share))
}

/// A list of those that have a value would tell the value.
fn check_not_hidden(info: &CollectionInfo, mask: &TopicMask, filters: &[FieldFilter]) -> Result<(), Problem> {
    for FieldFilter { field, .. } in filters {
        // Documents are events: the first name is that of the payload.
        let is_hidden = info.fields.get(field).is_some_and(|path| mask.touches(path.names().skip(1)));
        if is_hidden {
            let detail =
                format!("{field} is hidden by the mask of {}; only its administrators filter by it", info.topic);
            return Err(Problem::new(Code::Forbidden, detail).with_field(field));
        }
    }
    Ok(())
}

/// Where upcasters moved what is hidden, any field may have it.
async fn check_not_moved(api: &Api, info: &CollectionInfo, filters: &[FieldFilter]) -> Result<(), Problem> {
    let Some(FieldFilter { field, .. }) = filters.first() else { return Ok(()) };
    let schemas = api.hub.bus.schema(&info.topic).await?;
    if schemas.is_none_or(|schemas| schemas.upcasters.is_empty()) {
        return Ok(());
    }
    let detail = format!(
        "{} has a mask and upcasters, which may have moved what it hides; only its administrators filter by {field}",
        info.topic
    );
    Err(Problem::new(Code::Forbidden, detail).with_field(field))
}

/// As [`DocumentList`], with the documents as they are stored.
fn text_of(page: &CollectionPage, offset: u64, limit: usize) -> Vec<u8> {
    let count = page.count;
    let mut text = format!("{{\"offset\":{offset},\"limit\":{limit},\"count\":{count},\"items\":[").into_bytes();
    for (at, document) in page.documents.iter().enumerate() {
        if at > 0 {
            text.push(b',');
        }
        text.extend_from_slice(document);
    }
    let next = serde_json::json!({ "next": page.next }).to_string();
    text.extend_from_slice(b"],");
    text.extend_from_slice(next.trim_start_matches('{').as_bytes());
    text
}

/// Every parameter that is none of a list's own. An empty value is one too: documents may have it.
fn filters(uri: &Uri) -> Vec<FieldFilter> {
    let query = uri.query().unwrap_or_default();
    let pairs = form_urlencoded::parse(query.as_bytes());
    let is_field = |(name, _): &(std::borrow::Cow<'_, str>, _)| !matches!(&**name, "limit" | "offset" | "after" | "");
    let filter = |(field, value): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)| FieldFilter {
        field: field.into_owned(),
        value: value.into_owned(),
    };
    pairs.filter(is_field).map(filter).collect()
}
