//! BSON to JSON text, in the one spelling that `from_json` calls the same.

use mongodb::bson::{RawArray, RawBsonRef, RawDocument};
use prom_store::record::write_json_string;

/// The BSON holds a type that JSON does not have. Only a tool outside the hub writes such a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotJson;

impl From<mongodb::bson::error::Error> for NotJson {
    fn from(_: mongodb::bson::error::Error) -> Self {
        Self
    }
}

pub fn write_value(value: RawBsonRef<'_>, out: &mut Vec<u8>) -> Result<(), NotJson> {
    match value {
        RawBsonRef::String(text) => write_json_string(text, out),
        RawBsonRef::Document(document) => write_document(document, out)?,
        RawBsonRef::Array(array) => write_array(array, out)?,
        RawBsonRef::Int32(number) => write_whole(number.into(), out),
        RawBsonRef::Int64(number) => write_whole(number, out),
        RawBsonRef::Double(number) => write_double(number, out),
        RawBsonRef::Boolean(true) => out.extend_from_slice(b"true"),
        RawBsonRef::Boolean(false) => out.extend_from_slice(b"false"),
        RawBsonRef::Null => out.extend_from_slice(b"null"),
        _ => return Err(NotJson),
    }
    Ok(())
}

fn write_document(document: &RawDocument, out: &mut Vec<u8>) -> Result<(), NotJson> {
    out.push(b'{');
    for (index, member) in document.iter().enumerate() {
        let (name, value) = member?;
        if index > 0 {
            out.push(b',');
        }
        write_json_string(name.as_str(), out);
        out.push(b':');
        write_value(value, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_array(array: &RawArray, out: &mut Vec<u8>) -> Result<(), NotJson> {
    out.push(b'[');
    for (index, value) in array.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_value(value?, out)?;
    }
    out.push(b']');
    Ok(())
}

fn write_whole(number: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

pub fn write_double(number: f64, out: &mut Vec<u8>) {
    if serde_json::to_writer(&mut *out, &number).is_err() {
        out.extend_from_slice(b"null");
    }
}
