//! Writing receipts.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use prom_protocol::http::publish::PublishResult;
use prom_types::Receipt;
use serde::Serialize;

use super::form::Form;
use crate::http::budget::BodyShare;
use crate::http::problem::{Code, Problem};

pub(super) fn one(receipt: &Receipt) -> Result<Response, Problem> {
    let mut body = Vec::new();
    write(receipt, &mut body)?;
    Ok(json(body, "application/json"))
}

/// Lines for lines, else an array. It takes over the share of the request, until the client has taken it.
pub(super) fn all(
    form: Form,
    results: impl ExactSizeIterator<Item = Result<Receipt, Problem>>,
    mut share: BodyShare,
) -> Result<Response, Problem> {
    let lines = form == Form::Lines;
    let mut body = Vec::with_capacity(results.len() * 160 + 2);
    let mut before: &[u8] = if lines { b"" } else { b"[" };
    for result in results {
        body.extend_from_slice(before);
        let result = match result {
            Ok(receipt) => PublishResult::Stored(receipt),
            Err(problem) => PublishResult::Refused(Box::new(problem.into_document())),
        };
        write(&result, &mut body)?;
        before = if lines { b"\n" } else { b"," };
    }
    match (lines, body.is_empty()) {
        (true, true) => {}
        (true, false) => body.push(b'\n'),
        (false, true) => body.extend_from_slice(b"[]"),
        (false, false) => body.push(b']'),
    }
    // What was stored has to be told, also where nothing is left of the budget.
    let _beyond_the_budget = share.grow_to(body.capacity());
    Ok(json(share.hold(body), if lines { "application/x-ndjson" } else { "application/json" }))
}

fn write(value: &impl Serialize, out: &mut Vec<u8>) -> Result<(), Problem> {
    serde_json::to_writer(out, value).map_err(|error| Problem::new(Code::Internal, error.to_string()))
}

fn json(body: impl Into<Body>, content_type: &'static str) -> Response {
    ([(CONTENT_TYPE, content_type)], body.into()).into_response()
}
