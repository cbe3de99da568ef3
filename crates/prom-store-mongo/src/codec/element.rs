//! The few BSON elements that are written by hand, straight into one buffer, without a tree in between.

use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, RawBsonRef, RawDocument};
use prom_types::EventId;

pub const DOUBLE: u8 = 0x01;
pub const STRING: u8 = 0x02;
pub const DOCUMENT: u8 = 0x03;
pub const ARRAY: u8 = 0x04;
pub const BINARY: u8 = 0x05;
pub const OBJECT_ID: u8 = 0x07;
pub const BOOLEAN: u8 = 0x08;
pub const NULL: u8 = 0x0a;
pub const INT32: u8 = 0x10;
pub const TIMESTAMP: u8 = 0x11;
pub const INT64: u8 = 0x12;

const UUID_SUBTYPE: u8 = 4;

/// Tag and name of an element; its value follows.
pub fn begin(out: &mut Vec<u8>, tag: u8, name: &str) {
    out.push(tag);
    out.extend_from_slice(name.as_bytes());
    out.push(0);
}

pub fn int64(out: &mut Vec<u8>, name: &str, value: i64) {
    begin(out, INT64, name);
    out.extend_from_slice(&value.to_le_bytes());
}

pub fn int32(out: &mut Vec<u8>, name: &str, value: i32) {
    begin(out, INT32, name);
    out.extend_from_slice(&value.to_le_bytes());
}

pub fn string(out: &mut Vec<u8>, name: &str, value: &str) {
    begin(out, STRING, name);
    string_value(out, value.as_bytes());
}

pub fn string_value(out: &mut Vec<u8>, value: &[u8]) {
    out.extend_from_slice(&(value.len() as u32 + 1).to_le_bytes());
    out.extend_from_slice(value);
    out.push(0);
}

pub fn boolean(out: &mut Vec<u8>, name: &str, value: bool) {
    begin(out, BOOLEAN, name);
    out.push(u8::from(value));
}

pub fn uuid(out: &mut Vec<u8>, name: &str, id: EventId) {
    begin(out, BINARY, name);
    out.extend_from_slice(&16u32.to_le_bytes());
    out.push(UUID_SUBTYPE);
    out.extend_from_slice(id.as_bytes());
}

/// Begins a document or an array; [`close`] fills in its length.
pub fn open(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[0; 4]);
    out.len() - 4
}

pub fn close(out: &mut Vec<u8>, at: usize) {
    out.push(0);
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

/// An event id, stored as a UUID so that people can read it.
pub fn binary_id(id: EventId) -> Binary {
    Binary { subtype: BinarySubtype::Uuid, bytes: id.as_bytes().to_vec() }
}

pub fn id_of(value: RawBsonRef<'_>) -> Option<EventId> {
    let bytes = value.as_binary()?.bytes;
    Some(EventId::from_bytes(bytes.try_into().ok()?))
}

/// A number of any BSON number type: the server and other tools choose different ones.
pub fn number(document: &RawDocument, name: &str) -> Option<i64> {
    match document.get(name).ok()?? {
        RawBsonRef::Int64(value) => Some(value),
        RawBsonRef::Int32(value) => Some(value.into()),
        RawBsonRef::Double(value) if value.fract() == 0.0 => Some(value as i64),
        _ => None,
    }
}
