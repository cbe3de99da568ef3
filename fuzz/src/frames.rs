//! What comes over a socket, in both directions.
//!
//! Promises held: nothing panics; how the bytes are cut into reads changes nothing; a text that was accepted means the
//! same after it was written again.

use bytes::{Bytes, BytesMut};
use prom_protocol::websocket::{Decoder, Message, Role, WireError, encode};
use prom_protocol::{HubFrame, Request};

use crate::drive::Target;
use crate::rewrite;

pub const TARGET: Target = Target { name: "frames", run, seeds, words };

const LIMIT: usize = 8 * 1024;
const KEY: [u8; 4] = [0x5A, 0, 0xFF, 0x21];

/// What parsers know and no text in order has.
const ODD_WORDS: [&[u8]; 18] = [
    b"\"",
    b"\\",
    b"null",
    b"true",
    b"-1",
    b"1e400",
    b"\\u0000",
    b"\\ud800",
    b"{",
    b"]",
    b"\"unknown\":",
    b"\xff",
    b"\xf0\x9f\x98\x80",
    b"\x81\x80\0\0\0\0",
    b"\x01\x80\0\0\0\0",
    b"\x80\x80\0\0\0\0",
    b"\x89\x80\0\0\0\0",
    b"\x88\x82\0\0\0\0\x03\xe8",
];

/// Frames that are in order.
const TEXTS: [&str; 18] = [
    r#"{"op":"AUTH","token":"a.b.c","features":["batch"],"corr":"x"}"#,
    r#"{"op":"PUBLISH","topic":"a.b","payload":{"n":[1,2.5e3,"\u00e9"]},"opts":{"id":"0192f0c1-2345-7abc-8def-0123456789ab","exact":true,"key":"k","headers":{"x-a":"b"},"tags":["t"],"caused_by":["0192f0c1-2345-7abc-8def-0123456789ab"],"sid":"s","partition":0,"ts":1}}"#,
    r#"{"op":"PUBLISH","events":[{"topic":"a","payload":null},{"topic":"b","payload":1,"opts":{"key":"k"}}],"atomic":true,"corr":1}"#,
    r#"{"op":"SUBSCRIBE","topic":"a.**","group":"g","opts":{"from":"ts","ts":5,"backoff":{"firstMs":1,"maxMs":2},"topics":["b"],"order":"key","mode":"shared","filter":".a"}}"#,
    r#"{"op":"SUBSCRIBE","topic":"a","opts":{"afterId":"0192f0c1-2345-7abc-8def-0123456789ab","maxInFlight":5,"memberId":"m"}}"#,
    r#"{"op":"UNSUBSCRIBE","topic":"a","group":"g"}"#,
    r#"{"op":"PAUSE","topic":"a"}"#,
    r#"{"op":"ACK","topic":"a","group":"g","id":"0192f0c1-2345-7abc-8def-0123456789ab","corr":7}"#,
    r#"{"op":"ACK","topic":"a","group":"g","partition":3,"offsets":[[0,19],[30,18446744073709551615]]}"#,
    r#"{"op":"NACK","topic":"a","group":"g","ids":["0192f0c1-2345-7abc-8def-0123456789ab"],"reason":"\"no\"","delay_ms":5}"#,
    r#"{"op":"MODACK","topic":"a","group":"g","id":"0192f0c1-2345-7abc-8def-0123456789ab","extend_ms":1000}"#,
    r#"{"op":"OK","corr":7,"id":"0192f0c1-2345-7abc-8def-0123456789ab","partition":0,"offset":1,"stored_ts":2,"durability":"fsync"}"#,
    r#"{"op":"OK","durability":"os","results":[[0,1,2],[0,1,2,"0192f0c1-2345-7abc-8def-0123456789ab"],{"code":"internal","msg":"m"}]}"#,
    r#"{"op":"OK","hub":"prom/1","features":["batch"],"frame_bytes":5,"connection":"c","unknown":[[1,2]]}"#,
    r#"{"op":"ERR","code":"rate_limited","msg":"m","retry_after_ms":5,"topic":"a","group":"g","stored":"no"}"#,
    r#"{"op":"EVENT","topic":"a","group":"g","event":{"id":"x"},"ctx":{"attempt":1,"max_attempts":5,"ack_deadline_ms":9}}"#,
    r#"{"op":"EVENTS","topic":"a","events":[1,2],"ctx":{"attempts":{"1":2},"max_attempts":5,"ack_deadline_ms":9}}"#,
    r#"{"op":"GAP","topic":"a","event_topic":"a","partition":0,"from":1,"to":2,"reason":"retention"}"#,
];

/// The names and values of texts that are in order, and odd ones.
fn words() -> Vec<Vec<u8>> {
    let pieces =
        TEXTS.iter().flat_map(|text| text.split(['{', '}', '[', ']', ','])).flat_map(|it| it.split_inclusive(':'));
    pieces.map(str::as_bytes).filter(|piece| !piece.is_empty()).chain(ODD_WORDS).map(<[u8]>::to_vec).collect()
}

/// Plain texts, and texts on the wire of either direction, whole and in fragments.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = TEXTS.iter().map(|text| text.as_bytes().to_vec()).collect();
    for (at, text) in TEXTS.iter().enumerate() {
        let role = if at < 11 { Role::Client } else { Role::Hub };
        let mut wire = Vec::new();
        encode::text(&mut wire, text.as_bytes(), role, KEY);
        encode::ping(&mut wire, role, KEY);
        encode::text(&mut wire, b"{}", role, [0; 4]);
        encode::close(&mut wire, 1000, "done", role, KEY);
        seeds.push(wire);
    }
    let fragments = b"\x01\x81\0\0\0\0{\x89\x80\0\0\0\0\x00\x81\0\0\0\0}\x80\x80\0\0\0\0";
    seeds.push(fragments.to_vec());
    seeds
}

pub fn run(input: &[u8]) {
    for role in [Role::Hub, Role::Client] {
        let whole = decode(input, role, usize::MAX);
        assert_eq!(whole, decode(input, role, 1), "it matters how the bytes arrive");
        for message in whole.0 {
            if let Message::Text(text) = message {
                write_again(&text, role);
                read(text);
            }
        }
    }
    if std::str::from_utf8(input).is_ok() {
        read(Bytes::copy_from_slice(input));
    }
}

/// Every message until the end or the first refusal.
fn decode(input: &[u8], role: Role, step: usize) -> (Vec<Message>, Option<WireError>) {
    let mut decoder = Decoder::new(role, LIMIT);
    let (mut buffer, mut messages) = (BytesMut::new(), Vec::new());
    for read in input.chunks(step) {
        buffer.extend_from_slice(read);
        loop {
            match decoder.next(&mut buffer) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, Some(error)),
            }
        }
    }
    (messages, None)
}

/// What was taken off the wire can be put on it again.
fn write_again(text: &Bytes, reader: Role) {
    let writer = if reader == Role::Hub { Role::Client } else { Role::Hub };
    let mut wire = Vec::new();
    encode::text(&mut wire, text, writer, KEY);
    assert_eq!(decode(&wire, reader, usize::MAX), (vec![Message::Text(text.clone())], None));
}

fn read(text: Bytes) {
    if let Ok(request) = Request::read(&text) {
        rewrite::request(&request);
    }
    if let Ok(frame) = HubFrame::read(text) {
        rewrite::hub_frame(&frame);
    }
}
