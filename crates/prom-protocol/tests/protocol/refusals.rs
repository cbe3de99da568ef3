//! What is not WebSocket as it should be, or above the limit: each refused with its error and its close code.

use bytes::BytesMut;
use prom_protocol::CloseCode;
use prom_protocol::websocket::{Decoder, Message, Role, WireError};

const LIMIT: usize = 1000;

/// A frame of a client whose mask is zero, so that payloads can be read in the test.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        short @ 0..=125 => bytes.push(0x80 | short as u8),
        long => {
            bytes.push(0x80 | 126);
            bytes.extend_from_slice(&(long as u16).to_be_bytes());
        }
    }
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(payload);
    bytes
}

/// Everything until the decoder refuses.
fn refusal(role: Role, bytes: &[u8]) -> WireError {
    let mut decoder = Decoder::new(role, LIMIT);
    let mut buffer = BytesMut::from(bytes);
    loop {
        match decoder.next(&mut buffer) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("{bytes:?} was not refused"),
            Err(error) => return error,
        }
    }
}

#[test]
fn every_broken_rule_is_a_protocol_error_that_says_which() {
    let (text, unfinished, rest) = (0x81, 0x01, 0x80);
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("a first reserved bit", frame(0xC1, b"x"), "reserved"),
        ("a second reserved bit", frame(0xA1, b"x"), "reserved"),
        ("a third reserved bit", frame(0x91, b"x"), "reserved"),
        ("no mask", vec![text, 1, b'x'], "masked"),
        ("an unknown data opcode", frame(0x83, b"x"), "opcode"),
        ("an unknown control opcode", frame(0x8B, b"x"), "opcode"),
        ("a ping in fragments", frame(0x09, b"x"), "fragments"),
        ("a close in fragments", frame(0x08, b""), "fragments"),
        ("a ping of 126 bytes", frame(0x89, &[0; 126]), "125"),
        ("a close of 126 bytes", frame(0x88, &[0; 126]), "125"),
        ("a continuation of nothing", frame(rest, b"x"), "continuation"),
        ("a text within a text", [frame(unfinished, b"x"), frame(text, b"y")].concat(), "before the end"),
        ("an end twice", [frame(unfinished, b"x"), frame(rest, b"y"), frame(rest, b"z")].concat(), "continuation"),
        ("a close of one byte", frame(0x88, &[3]), "one byte"),
        ("a close code below 1000", frame(0x88, &[0x03, 0xE7]), "close code"),
        ("a close code that is reserved", frame(0x88, &[0x03, 0xED]), "close code"),
        ("a close code above 4999", frame(0x88, &[0x13, 0x88]), "close code"),
    ];
    for (name, bytes, says) in cases {
        let error = refusal(Role::Hub, &bytes);
        assert!(matches!(error, WireError::Protocol(reason) if reason.contains(says)), "{name}: {error}");
        assert_eq!(error.close_code(), CloseCode::ProtocolError, "{name}");
    }
    let masked_by_a_hub = refusal(Role::Client, &frame(text, b"x"));
    assert_eq!(masked_by_a_hub, WireError::Protocol("a hub's frame must not be masked"));
}

#[test]
fn binary_messages_are_refused() {
    for first in [0x82, 0x02] {
        assert_eq!(refusal(Role::Hub, &frame(first, b"x")), WireError::Binary);
    }
    assert_eq!(WireError::Binary.close_code().code(), 1003);
}

#[test]
fn texts_that_are_not_utf_8_are_refused_also_where_a_fragment_hides_it() {
    for bad in [&[0xFF][..], &[0xC3], &[0xED, 0xA0, 0x80], &[0xF4, 0x90, 0x80, 0x80], b"ok\xC0\x80"] {
        assert_eq!(refusal(Role::Hub, &frame(0x81, bad)), WireError::NotUtf8, "{bad:?}");
    }
    let torn_for_good = [frame(0x01, &[0xC3]), frame(0x80, b"x")].concat();
    assert_eq!(refusal(Role::Hub, &torn_for_good), WireError::NotUtf8);
    assert_eq!(refusal(Role::Hub, &frame(0x88, &[0x03, 0xE8, 0xFF])), WireError::NotUtf8);
    assert_eq!(WireError::NotUtf8.close_code().code(), 1007);
}

#[test]
fn what_is_above_the_limit_is_refused_by_its_head() {
    let announced = |length: u64| {
        let mut bytes = vec![0x81, 0xFF];
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes
    };
    for length in [LIMIT as u64 + 1, 100 << 20, 1 << 40, u64::MAX] {
        let error = refusal(Role::Hub, &announced(length));
        assert_eq!(error, WireError::TooLarge { size: length, limit: LIMIT });
        assert_eq!(error.close_code().code(), 1009);
    }
    let mut fits = announced(LIMIT as u64);
    fits.extend_from_slice(&[b'x'; LIMIT]);
    let message = Decoder::new(Role::Hub, LIMIT).next(&mut BytesMut::from(&fits[..])).unwrap();
    assert!(matches!(message, Some(Message::Text(text)) if text.len() == LIMIT));
}

#[test]
fn a_message_in_fragments_has_the_limit_of_a_whole_one() {
    let within = [frame(0x01, &[b'x'; 600]), frame(0x80, &[b'x'; 400])].concat();
    let mut decoder = Decoder::new(Role::Hub, LIMIT);
    assert!(matches!(decoder.next(&mut BytesMut::from(&within[..])), Ok(Some(Message::Text(_)))));
    let above = [frame(0x01, &[b'x'; 600]), frame(0x00, &[b'x'; 300]), frame(0x80, &[b'x'; 101])].concat();
    assert_eq!(refusal(Role::Hub, &above), WireError::TooLarge { size: 1001, limit: LIMIT });
}

#[test]
fn control_frames_are_let_through_by_a_limit_that_is_smaller_than_they_are() {
    let mut decoder = Decoder::new(Role::Hub, 10);
    let message = decoder.next(&mut BytesMut::from(&frame(0x89, &[7; 125])[..])).unwrap();
    assert!(matches!(message, Some(Message::Ping(payload)) if payload.len() == 125));
    let text = decoder.next(&mut BytesMut::from(&frame(0x81, &[b'x'; 11])[..]));
    assert_eq!(text, Err(WireError::TooLarge { size: 11, limit: 10 }), "texts are not control frames");
}
