//! From messages to bytes, appended to a buffer that is written as a whole.

use super::{Role, mask, opcode};

/// Where a message's bytes begin, so that its head can be put before them.
#[derive(Debug)]
#[must_use = "a message that was begun has to be finished"]
pub struct Begun {
    head_at: usize,
    text_at: usize,
}

/// The longest head: two bytes, eight of length, four of mask.
const HEAD_BYTES: usize = 14;

/// Begins a text message; append its text, then call [`finish`].
pub fn begin(out: &mut Vec<u8>) -> Begun {
    begin_with(out, HEAD_BYTES)
}

/// As [`begin`], where it is known about how long the text will be: then it need not be moved.
pub fn begin_about(out: &mut Vec<u8>, text_bytes: usize, role: Role) -> Begun {
    begin_with(out, write_head(&mut [0; HEAD_BYTES], opcode::TEXT, text_bytes, role, [0; 4]))
}

fn begin_with(out: &mut Vec<u8>, head_bytes: usize) -> Begun {
    let head_at = out.len();
    out.extend_from_slice(&[0; HEAD_BYTES][..head_bytes]);
    Begun { head_at, text_at: out.len() }
}

/// Puts the head before the text that was appended since [`begin`].
///
/// The head is as short as it can be, so the text may move by a few bytes: cheaper than knowing its length beforehand.
pub fn finish(out: &mut Vec<u8>, begun: Begun, role: Role, key: [u8; 4]) {
    let Begun { head_at, text_at } = begun;
    let text_bytes = out.len() - text_at;
    let mut head = [0; HEAD_BYTES];
    let head_bytes = write_head(&mut head, opcode::TEXT, text_bytes, role, key);
    if role == Role::Client {
        mask::apply(&mut out[text_at..], key);
    }
    let room = text_at - head_at;
    if head_bytes > room {
        out.resize(out.len() + head_bytes - room, 0);
    }
    if head_bytes != room {
        out.copy_within(text_at..text_at + text_bytes, head_at + head_bytes);
    }
    out[head_at..head_at + head_bytes].copy_from_slice(&head[..head_bytes]);
    out.truncate(head_at + head_bytes + text_bytes);
}

/// A text message as a whole.
pub fn text(out: &mut Vec<u8>, text: &[u8], role: Role, key: [u8; 4]) {
    message(out, opcode::TEXT, text, role, key);
}

pub fn ping(out: &mut Vec<u8>, role: Role, key: [u8; 4]) {
    message(out, opcode::PING, &[], role, key);
}

/// The answer to a ping.
pub fn pong(out: &mut Vec<u8>, payload: &[u8], role: Role, key: [u8; 4]) {
    message(out, opcode::PONG, payload, role, key);
}

/// The last message; the reason is cut where it does not fit.
pub fn close(out: &mut Vec<u8>, code: u16, reason: &str, role: Role, key: [u8; 4]) {
    let mut payload = Vec::with_capacity(crate::limits::CONTROL_BYTES);
    payload.extend_from_slice(&code.to_be_bytes());
    let fits = reason.floor_char_boundary(crate::limits::CONTROL_BYTES - 2);
    payload.extend_from_slice(&reason.as_bytes()[..fits]);
    message(out, opcode::CLOSE, &payload, role, key);
}

fn message(out: &mut Vec<u8>, opcode: u8, payload: &[u8], role: Role, key: [u8; 4]) {
    let mut head = [0; HEAD_BYTES];
    let head_bytes = write_head(&mut head, opcode, payload.len(), role, key);
    out.extend_from_slice(&head[..head_bytes]);
    let payload_at = out.len();
    out.extend_from_slice(payload);
    if role == Role::Client {
        mask::apply(&mut out[payload_at..], key);
    }
}

/// Returns how long it is.
fn write_head(head: &mut [u8; HEAD_BYTES], opcode: u8, payload_bytes: usize, role: Role, key: [u8; 4]) -> usize {
    let masked = if role == Role::Client { 0x80 } else { 0 };
    head[0] = 0x80 | opcode;
    let mut at = match payload_bytes {
        0..=125 => {
            head[1] = masked | payload_bytes as u8;
            2
        }
        126..=0xFFFF => {
            head[1] = masked | 126;
            head[2..4].copy_from_slice(&(payload_bytes as u16).to_be_bytes());
            4
        }
        _ => {
            head[1] = masked | 127;
            head[2..10].copy_from_slice(&(payload_bytes as u64).to_be_bytes());
            10
        }
    };
    if role == Role::Client {
        head[at..at + 4].copy_from_slice(&key);
        at += 4;
    }
    at
}
