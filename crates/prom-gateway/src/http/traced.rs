//! Names the trace of a request in every line that is logged while it is answered, so that a log and a trace lead to each other.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderMap;
use tracing::Instrument as _;

/// Requests without a `traceparent` cost nothing here.
pub(super) async fn name_trace(request: Request, next: Next) -> Response {
    let Some(trace_id) = trace_id(request.headers()) else {
        return next.run(request).await;
    };
    let span = tracing::info_span!("request", %trace_id, method = %request.method(), path = request.uri().path());
    next.run(request).instrument(span).await
}

/// As W3C Trace Context writes it: version, trace, parent and flags. Anything else is no trace, and no text for a log.
fn trace_id(headers: &HeaderMap) -> Option<String> {
    let mut parts = headers.get("traceparent")?.to_str().ok()?.split('-');
    let (version, id) = (parts.next()?, parts.next()?);
    let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_trace =
        version.len() == 2 && id.len() == 32 && is_hex(version) && is_hex(id) && id.bytes().any(|byte| byte != b'0');
    is_trace.then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_id_of_a_trace_is_one() {
        let of =
            |value: &str| trace_id(&HeaderMap::from_iter([("traceparent".parse().unwrap(), value.parse().unwrap())]));
        let id = "0af7651916cd43dd8448eb211c80319c";
        assert_eq!(of(&format!("00-{id}-b7ad6b7169203331-01")).as_deref(), Some(id));
        for not in [
            "",
            "junk",
            "00-0af7",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        ] {
            assert_eq!(of(not), None, "{not}");
        }
    }
}
