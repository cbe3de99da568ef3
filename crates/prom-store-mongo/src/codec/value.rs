//! The value of a document: queryable if it is JSON that can be reproduced exactly, bytes otherwise.

use bytes::Bytes;
use mongodb::bson::spec::BinarySubtype;
use mongodb::bson::{Binary, Bson, RawBsonRef, RawDocument, RawDocumentBuf};

use super::element;
use super::from_json::{Fit, append_value};
use super::to_json::{NotJson, write_value};

/// What is written for a value.
pub enum DocumentValue {
    Json(Bson),
    Bytes(Bson),
}

pub fn document_value(value: &[u8]) -> DocumentValue {
    as_json(value).map_or_else(
        || DocumentValue::Bytes(Binary { subtype: BinarySubtype::Generic, bytes: value.to_vec() }.into()),
        DocumentValue::Json,
    )
}

fn as_json(value: &[u8]) -> Option<Bson> {
    std::str::from_utf8(value).ok()?;
    let mut out = Vec::with_capacity(value.len() + 64);
    let open = element::open(&mut out);
    if append_value(&mut out, "value", value) != Ok(Fit::Same) {
        return None;
    }
    element::close(&mut out, open);
    let document = RawDocumentBuf::from_bytes(out).ok()?;
    document.get("value").ok()??.try_into().ok()
}

impl DocumentValue {
    /// The value of a stored document.
    pub fn read(document: &RawDocument) -> Result<Bytes, NotJson> {
        if let Some(RawBsonRef::Binary(binary)) = document.get("bytes")? {
            return Ok(Bytes::copy_from_slice(binary.bytes));
        }
        let mut text = Vec::new();
        write_value(document.get("value")?.ok_or(NotJson)?, &mut text)?;
        Ok(text.into())
    }
}
