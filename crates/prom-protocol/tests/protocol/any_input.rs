//! Whatever comes, nothing panics: random bytes, and frames in order that were spoilt here and there.

use bytes::{Bytes, BytesMut};
use prom_protocol::websocket::{Decoder, Message, Role, encode};
use prom_protocol::{HubFrame, Request};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const FRAMES: [&str; 14] = [
    r#"{"op":"AUTH","token":"a.b.c","features":["batch"],"corr":"x"}"#,
    r#"{"op":"PUBLISH","topic":"a.b","payload":{"n":[1,2.5e3,"\u00e9"]},"opts":{"key":"k","headers":{"x-a":"b"},"ts":1}}"#,
    r#"{"op":"PUBLISH","events":[{"topic":"a","payload":null},{"topic":"b","payload":1}],"atomic":true,"corr":1}"#,
    r#"{"op":"SUBSCRIBE","topic":"a.**","group":"g","opts":{"from":"ts","ts":5,"backoff":{"firstMs":1,"maxMs":2},"topics":["b"]}}"#,
    r#"{"op":"ACK","topic":"a","group":"g","ids":["0192f0c1-2345-7abc-8def-0123456789ab"]}"#,
    r#"{"op":"ACK","topic":"a","group":"g","partition":3,"offsets":[[0,19],[30,18446744073709551615]]}"#,
    r#"{"op":"NACK","topic":"a","group":"g","id":"0192f0c1-2345-7abc-8def-0123456789ab","reason":"\"no\"","delay_ms":5}"#,
    r#"{"op":"MODACK","topic":"a","group":"g","id":"0192f0c1-2345-7abc-8def-0123456789ab","extend_ms":1000}"#,
    r#"{"op":"OK","corr":7,"id":"0192f0c1-2345-7abc-8def-0123456789ab","partition":0,"offset":1,"stored_ts":2,"durability":"fsync"}"#,
    r#"{"op":"OK","durability":"os","results":[[0,1,2],{"code":"internal","msg":"m"}],"unknown":[[1,2]]}"#,
    r#"{"op":"ERR","code":"rate_limited","msg":"m","retry_after_ms":5,"topic":"a","group":"g"}"#,
    r#"{"op":"EVENT","topic":"a","group":"g","event":{"id":"x"},"ctx":{"attempt":1,"max_attempts":5,"ack_deadline_ms":9}}"#,
    r#"{"op":"EVENTS","topic":"a","events":[1,2],"ctx":{"attempts":{"1":2},"max_attempts":5,"ack_deadline_ms":9}}"#,
    r#"{"op":"GAP","topic":"a","event_topic":"a","partition":0,"from":1,"to":2,"reason":"retention"}"#,
];

#[derive(Debug, Clone)]
enum Spoil {
    Flip(Index, u8),
    Cut(Index),
    Remove(Index, usize),
    Insert(Index, Vec<u8>),
    Repeat(Index, usize),
}

fn spoil() -> impl Strategy<Value = Spoil> {
    let pieces =
        [&b"{"[..], b"}", b"[", b"]", b"\"", b"\\", b",", b":", b"null", b"-", b"1e9", b"\\u0000", b"\\ud800", b"\xff"];
    prop_oneof![
        any::<(Index, u8)>().prop_map(|(at, bits)| Spoil::Flip(at, bits)),
        any::<Index>().prop_map(Spoil::Cut),
        (any::<Index>(), 1usize..9).prop_map(|(at, length)| Spoil::Remove(at, length)),
        (any::<Index>(), select(pieces.to_vec())).prop_map(|(at, piece)| Spoil::Insert(at, piece.to_vec())),
        (any::<Index>(), 1usize..40).prop_map(|(at, length)| Spoil::Repeat(at, length)),
    ]
}

fn spoilt(bytes: &mut Vec<u8>, spoil: &Spoil) {
    if bytes.is_empty() {
        return;
    }
    let end_of = |at: usize, length: usize| (at + length).min(bytes.len());
    match spoil {
        Spoil::Flip(at, bits) => {
            let at = at.index(bytes.len());
            bytes[at] ^= bits;
        }
        Spoil::Cut(at) => bytes.truncate(at.index(bytes.len())),
        Spoil::Remove(at, length) => {
            let at = at.index(bytes.len());
            drop(bytes.drain(at..end_of(at, *length)));
        }
        Spoil::Insert(at, piece) => {
            let at = at.index(bytes.len());
            drop(bytes.splice(at..at, piece.iter().copied()));
        }
        Spoil::Repeat(at, length) => {
            let at = at.index(bytes.len());
            let again = bytes[at..end_of(at, *length)].to_vec();
            drop(bytes.splice(at..at, again));
        }
    }
}

/// Reads what came in both directions, with everything that may be asked of it.
fn read_as_anything(text: Bytes) {
    drop(Request::read(&text));
    if let Ok(HubFrame::Ok(done)) = HubFrame::read(text) {
        drop((done.receipt(), done.welcome(), done.batch(), done.unknown_offsets()));
    }
}

/// Decodes until the end or the first refusal, and reads every text.
fn decode_all(bytes: &[u8], role: Role) {
    let mut decoder = Decoder::new(role, 64 * 1024);
    let mut buffer = BytesMut::from(bytes);
    while let Ok(Some(message)) = decoder.next(&mut buffer) {
        if let Message::Text(text) = message {
            read_as_anything(text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_panic_nowhere(bytes in vec(any::<u8>(), 0..200)) {
        decode_all(&bytes, Role::Hub);
        decode_all(&bytes, Role::Client);
        if std::str::from_utf8(&bytes).is_ok() {
            read_as_anything(bytes.into());
        }
    }

    #[test]
    fn spoilt_texts_panic_nowhere(frame in select(FRAMES.to_vec()), spoils in vec(spoil(), 0..6)) {
        let mut bytes = frame.as_bytes().to_vec();
        spoils.iter().for_each(|spoil| spoilt(&mut bytes, spoil));
        if std::str::from_utf8(&bytes).is_ok() {
            read_as_anything(bytes.into());
        }
    }

    #[test]
    fn spoilt_messages_panic_nowhere(
        frames in vec(select(FRAMES.to_vec()), 1..4), key: [u8; 4], spoils in vec(spoil(), 0..6), hub: bool,
    ) {
        let (writer, reader) = if hub { (Role::Hub, Role::Client) } else { (Role::Client, Role::Hub) };
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| encode::text(&mut bytes, frame.as_bytes(), writer, key));
        spoils.iter().for_each(|spoil| spoilt(&mut bytes, spoil));
        decode_all(&bytes, reader);
    }
}
