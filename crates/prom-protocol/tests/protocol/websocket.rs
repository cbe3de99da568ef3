//! Our codec and foreign ones understand each other, whatever the fragments, the masks and the reads.

use bytes::{Bytes, BytesMut};
use prom_protocol::websocket::{Decoder, Message, Role, encode};
use proptest::collection::vec;
use proptest::prelude::*;
use tokio_tungstenite::tungstenite::protocol::Role as TheirRole;

use crate::foreign::{Kind, Seen, Wire, fast_bytes, fast_reads, tungstenite_bytes, tungstenite_reads};

const LIMIT: usize = 1024 * 1024;

/// Something to say: a text in pieces, with control frames between the pieces.
#[derive(Debug, Clone)]
enum Saying {
    Text { pieces: Vec<String>, between: Vec<Vec<u8>> },
    Ping(Vec<u8>),
    Pong(Vec<u8>),
}

/// Short ones mostly, and lengths around those at which the head grows.
fn text() -> impl Strategy<Value = String> {
    let long = prop_oneof![124usize..=127, 65_530usize..65_540].prop_map(|length| "é".repeat(length / 2));
    prop_oneof![8 => any::<String>(), 1 => long]
}

fn saying() -> impl Strategy<Value = Saying> {
    let control = || vec(any::<u8>(), 0..=125);
    prop_oneof![
        4 => (vec(text(), 1..5), vec(control(), 0..4)).prop_map(|(pieces, between)| Saying::Text { pieces, between }),
        1 => control().prop_map(Saying::Ping),
        1 => control().prop_map(Saying::Pong),
    ]
}

/// The frames of what is said, and the messages that must come of them.
fn frames(sayings: &[Saying]) -> (Vec<Wire>, Vec<Message>) {
    let (mut wires, mut messages) = (Vec::new(), Vec::new());
    for saying in sayings {
        match saying {
            Saying::Ping(payload) => {
                wires.push(Wire { fin: true, kind: Kind::Ping, payload: payload.clone() });
                messages.push(Message::Ping(payload.clone().into()));
            }
            Saying::Pong(payload) => {
                wires.push(Wire { fin: true, kind: Kind::Pong, payload: payload.clone() });
                messages.push(Message::Pong);
            }
            Saying::Text { pieces, between } => {
                // Pieces are cut apart as bytes, so that characters are torn.
                let whole = pieces.concat().into_bytes();
                let piece = (whole.len() / pieces.len()).max(1);
                let mut parts: Vec<&[u8]> = whole.chunks(piece).collect();
                if parts.is_empty() {
                    parts.push(&[]);
                }
                for (at, part) in parts.iter().enumerate() {
                    let kind = if at == 0 { Kind::Text } else { Kind::Continuation };
                    let fin = at + 1 == parts.len();
                    wires.push(Wire { fin, kind, payload: part.to_vec() });
                    if let Some(ping) = between.get(at).filter(|_| !fin) {
                        wires.push(Wire { fin: true, kind: Kind::Ping, payload: ping.clone() });
                        messages.push(Message::Ping(ping.clone().into()));
                    }
                }
                messages.push(Message::Text(Bytes::from(whole)));
            }
        }
    }
    (wires, messages)
}

/// What our decoder makes of bytes that arrive `step` at a time.
fn decode(bytes: &[u8], role: Role, step: usize) -> Vec<Message> {
    let mut decoder = Decoder::new(role, LIMIT);
    let (mut buffer, mut messages) = (BytesMut::new(), Vec::new());
    for read in bytes.chunks(step) {
        buffer.extend_from_slice(read);
        while let Some(message) = decoder.next(&mut buffer).unwrap() {
            messages.push(message);
        }
    }
    assert!(buffer.is_empty() && !decoder.is_mid_message());
    messages
}

fn steps() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1), 2usize..20, 20usize..5000, Just(usize::MAX)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn what_others_encode_is_what_we_decode(sayings in vec(saying(), 0..6), key: [u8; 4], step in steps()) {
        let (wires, expected) = frames(&sayings);
        for encode in [fast_bytes, tungstenite_bytes] {
            let from_client: Vec<u8> = wires.iter().flat_map(|wire| encode(wire, Some(key))).collect();
            prop_assert_eq!(&decode(&from_client, Role::Hub, step), &expected);
            let from_hub: Vec<u8> = wires.iter().flat_map(|wire| encode(wire, None)).collect();
            prop_assert_eq!(&decode(&from_hub, Role::Client, step), &expected);
        }
    }

    #[test]
    fn what_we_encode_is_what_others_decode(
        texts in vec(text(), 0..5),
        control in vec(any::<u8>(), 0..=125),
        key: [u8; 4],
        guess in prop_oneof![0..300_usize, 65_000..66_000_usize],
        step in steps(),
    ) {
        let said = |role| {
            let (mut out, mut seen) = (Vec::new(), Vec::new());
            for (at, text) in texts.iter().enumerate() {
                let begun = match at % 3 {
                    0 => None,
                    1 => Some(encode::begin(&mut out)),
                    _ => Some(encode::begin_about(&mut out, guess, role)),
                };
                match begun {
                    None => encode::text(&mut out, text.as_bytes(), role, key),
                    Some(begun) => {
                        out.extend_from_slice(text.as_bytes());
                        encode::finish(&mut out, begun, role, key);
                    }
                }
                seen.push(Seen::Text(text.clone()));
            }
            encode::ping(&mut out, role, key);
            encode::pong(&mut out, &control, role, key);
            encode::close(&mut out, 4001, "gone", role, key);
            seen.extend([Seen::Ping(vec![]), Seen::Pong(control.clone()), Seen::Close(4001, "gone".to_owned())]);
            (out, seen)
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (from_hub, expected) = said(Role::Hub);
        prop_assert_eq!(&tungstenite_reads(&from_hub, TheirRole::Client, step), &expected);
        prop_assert_eq!(&runtime.block_on(fast_reads(&from_hub, fastwebsockets::Role::Client)), &expected);
        let (from_client, expected) = said(Role::Client);
        prop_assert_eq!(&tungstenite_reads(&from_client, TheirRole::Server, step), &expected);
        prop_assert_eq!(&runtime.block_on(fast_reads(&from_client, fastwebsockets::Role::Server)), &expected);
    }
}

#[test]
fn the_reason_of_a_close_is_cut_between_characters_where_it_is_too_long() {
    let mut out = Vec::new();
    encode::close(&mut out, 1001, &"é".repeat(100), Role::Hub, [0; 4]);
    let Seen::Close(1001, reason) = &tungstenite_reads(&out, TheirRole::Client, usize::MAX)[0] else {
        panic!("{out:?}");
    };
    assert_eq!(*reason, "é".repeat(61));
}

#[test]
fn a_close_with_or_without_a_code_is_read() {
    for (payload, expected) in [(&[][..], None), (&[0x03, 0xE8], Some(1000)), (&[0x0F, 0xA1, b'x'], Some(4001))] {
        let mut bytes = vec![0x88, payload.len() as u8];
        bytes.extend_from_slice(payload);
        assert_eq!(decode(&bytes, Role::Client, 1), [Message::Close(expected)]);
    }
}

#[test]
fn bytes_that_were_only_announced_cost_no_memory() {
    let mut decoder = Decoder::new(Role::Hub, LIMIT);
    // A text of exactly the limit: allowed, so it is waited for.
    let mut head = vec![0x81, 0xFF];
    head.extend_from_slice(&(LIMIT as u64).to_be_bytes());
    head.extend_from_slice(&[1, 2, 3, 4]);
    let mut buffer = BytesMut::from(&head[..]);
    let before = buffer.capacity();
    for _ in 0..1000 {
        assert_eq!(decoder.next(&mut buffer), Ok(None));
    }
    assert_eq!((buffer.capacity(), buffer.len()), (before, head.len()));
}
