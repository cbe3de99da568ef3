//! From an HTTP request to a WebSocket.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use sha1::{Digest, Sha1};

/// Fixed by the WebSocket protocol.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Whether a request asks for a WebSocket.
pub fn is_asked_for(request: &Request<Incoming>) -> bool {
    let names = |header, name: &str| {
        let values = request.headers().get_all(header).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|value| value.trim().eq_ignore_ascii_case(name))
    };
    request.method() == Method::GET && names(CONNECTION, "upgrade") && names(UPGRADE, "websocket")
}

/// The answer that makes the connection a WebSocket, or why it cannot be one.
pub fn accept<B: Default>(headers: &HeaderMap) -> Result<Response<B>, &'static str> {
    if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err("only version 13 of WebSocket is supported");
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).ok_or("the header Sec-WebSocket-Key is missing")?;
    let hash = Sha1::new().chain_update(key.as_bytes()).chain_update(GUID).finalize();
    let accept = HeaderValue::from_str(&STANDARD.encode(hash)).map_err(|_| "the WebSocket key is invalid")?;
    let mut response = Response::new(B::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    Ok(response)
}
