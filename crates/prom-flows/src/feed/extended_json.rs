//! BSON as MongoDB's extended JSON, written straight into text, so that no number is rounded on the way.
//!
//! Plain numbers are the relaxed form: the digits of integers as they are, doubles in the shortest form that reads back as the same,
//! decimals always as `$numberDecimal`. Typed numbers are the canonical form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mongodb::bson::{RawArray, RawBsonRef, RawDocument};
use prom_store::record::write_json_string;

use super::options::NumberForm;

/// The BSON is damaged, or holds a value without a JSON form.
#[derive(Debug, thiserror::Error)]
#[error("the BSON cannot be read: {0}")]
pub(crate) struct UnreadableBson(String);

impl From<mongodb::bson::error::Error> for UnreadableBson {
    fn from(error: mongodb::bson::error::Error) -> Self {
        Self(error.to_string())
    }
}

/// The first and the last millisecond whose year has four digits.
const WRITTEN_DATES: std::ops::RangeInclusive<i64> = 0..=253_402_300_799_999;

pub(crate) fn write_document(
    document: &RawDocument,
    form: NumberForm,
    out: &mut Vec<u8>,
) -> Result<(), UnreadableBson> {
    out.push(b'{');
    for (index, member) in document.iter().enumerate() {
        let (name, value) = member?;
        if index > 0 {
            out.push(b',');
        }
        write_json_string(name.as_str(), out);
        out.push(b':');
        write_value(value, form, out)?;
    }
    out.push(b'}');
    Ok(())
}

pub(crate) fn write_value(value: RawBsonRef<'_>, form: NumberForm, out: &mut Vec<u8>) -> Result<(), UnreadableBson> {
    match value {
        RawBsonRef::String(text) => write_json_string(text, out),
        RawBsonRef::Document(document) => write_document(document, form, out)?,
        RawBsonRef::Array(array) => write_array(array, form, out)?,
        RawBsonRef::Int32(number) => write_number("$numberInt", form, &number.to_string(), out),
        RawBsonRef::Int64(number) => write_number("$numberLong", form, &number.to_string(), out),
        RawBsonRef::Double(number) => write_double(number, form, out),
        RawBsonRef::Boolean(true) => out.extend_from_slice(b"true"),
        RawBsonRef::Boolean(false) => out.extend_from_slice(b"false"),
        RawBsonRef::Null => out.extend_from_slice(b"null"),
        RawBsonRef::ObjectId(id) => write_tagged("$oid", &id.to_hex(), out),
        RawBsonRef::Decimal128(number) => write_tagged("$numberDecimal", &number.to_string(), out),
        RawBsonRef::DateTime(moment) => write_date(moment, form, out),
        rare => write_rare(rare, form, out)?,
    }
    Ok(())
}

fn write_array(array: &RawArray, form: NumberForm, out: &mut Vec<u8>) -> Result<(), UnreadableBson> {
    out.push(b'[');
    for (index, value) in array.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_value(value?, form, out)?;
    }
    out.push(b']');
    Ok(())
}

fn write_tagged(tag: &str, text: &str, out: &mut Vec<u8>) {
    out.push(b'{');
    write_json_string(tag, out);
    out.push(b':');
    write_json_string(text, out);
    out.push(b'}');
}

fn write_number(tag: &str, form: NumberForm, digits: &str, out: &mut Vec<u8>) {
    match form {
        NumberForm::Plain => out.extend_from_slice(digits.as_bytes()),
        NumberForm::Typed => write_tagged(tag, digits, out),
    }
}

fn write_double(number: f64, form: NumberForm, out: &mut Vec<u8>) {
    match serde_json::to_string(&number) {
        Ok(text) if number.is_finite() => write_number("$numberDouble", form, &text, out),
        _ => {
            let text = if number.is_nan() {
                "NaN"
            } else if number > 0.0 {
                "Infinity"
            } else {
                "-Infinity"
            };
            write_tagged("$numberDouble", text, out);
        }
    }
}

fn write_date(moment: mongodb::bson::DateTime, form: NumberForm, out: &mut Vec<u8>) {
    let millis = moment.timestamp_millis();
    let written = match form {
        NumberForm::Plain if WRITTEN_DATES.contains(&millis) => moment.try_to_rfc3339_string().ok(),
        NumberForm::Plain | NumberForm::Typed => None,
    };
    match written {
        Some(text) => write_tagged("$date", &text, out),
        None => {
            out.extend_from_slice(b"{\"$date\":");
            write_tagged("$numberLong", &millis.to_string(), out);
            out.push(b'}');
        }
    }
}

/// Types that are seldom seen.
fn write_rare(value: RawBsonRef<'_>, form: NumberForm, out: &mut Vec<u8>) -> Result<(), UnreadableBson> {
    match value {
        RawBsonRef::Binary(binary) => {
            out.extend_from_slice(b"{\"$binary\":{\"base64\":");
            write_json_string(&STANDARD.encode(binary.bytes), out);
            out.extend_from_slice(format!(",\"subType\":\"{:02x}\"}}}}", u8::from(binary.subtype)).as_bytes());
        }
        RawBsonRef::Timestamp(time) => {
            let text = format!("{{\"$timestamp\":{{\"t\":{},\"i\":{}}}}}", time.time, time.increment);
            out.extend_from_slice(text.as_bytes());
        }
        RawBsonRef::RegularExpression(expression) => {
            out.extend_from_slice(b"{\"$regularExpression\":{\"pattern\":");
            write_json_string(expression.pattern.as_str(), out);
            out.extend_from_slice(b",\"options\":");
            write_json_string(expression.options.as_str(), out);
            out.extend_from_slice(b"}}");
        }
        RawBsonRef::JavaScriptCode(code) => write_tagged("$code", code, out),
        RawBsonRef::JavaScriptCodeWithScope(code) => {
            out.extend_from_slice(b"{\"$code\":");
            write_json_string(code.code, out);
            out.extend_from_slice(b",\"$scope\":");
            write_document(code.scope, form, out)?;
            out.push(b'}');
        }
        RawBsonRef::Symbol(text) => write_tagged("$symbol", text, out),
        RawBsonRef::Undefined => out.extend_from_slice(b"{\"$undefined\":true}"),
        RawBsonRef::MinKey => out.extend_from_slice(b"{\"$minKey\":1}"),
        RawBsonRef::MaxKey => out.extend_from_slice(b"{\"$maxKey\":1}"),
        other => return Err(UnreadableBson(format!("a {:?} has no form in JSON", other.element_type()))),
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use mongodb::bson::{
        Binary, DateTime, Decimal128, RawDocumentBuf, Timestamp, doc, oid::ObjectId, spec::BinarySubtype,
    };

    use super::*;

    fn written(document: mongodb::bson::Document, form: NumberForm) -> String {
        let mut out = Vec::new();
        write_document(&RawDocumentBuf::try_from(&document).unwrap(), form, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn no_number_is_rounded() {
        let decimal: Decimal128 = "12345678901234567890.12345678901234".parse().unwrap();
        let document = doc! { "l": i64::MAX, "i": -1, "d": 0.1, "w": 3.0, "n": f64::NAN, "m": decimal };
        assert_eq!(
            written(document.clone(), NumberForm::Plain),
            r#"{"l":9223372036854775807,"i":-1,"d":0.1,"w":3.0,"n":{"$numberDouble":"NaN"},"m":{"$numberDecimal":"12345678901234567890.12345678901234"}}"#
        );
        assert_eq!(
            written(document, NumberForm::Typed),
            r#"{"l":{"$numberLong":"9223372036854775807"},"i":{"$numberInt":"-1"},"d":{"$numberDouble":"0.1"},"w":{"$numberDouble":"3.0"},"n":{"$numberDouble":"NaN"},"m":{"$numberDecimal":"12345678901234567890.12345678901234"}}"#
        );
    }

    #[test]
    fn other_types_have_the_form_that_drivers_read() {
        let id = ObjectId::parse_str("65a000000000000000000001").unwrap();
        let binary = Binary { subtype: BinarySubtype::Generic, bytes: vec![1, 2] };
        let document = doc! {
            "_id": id, "at": DateTime::from_millis(1_700_000_000_123), "before": DateTime::from_millis(-1),
            "bytes": binary, "time": Timestamp { time: 5, increment: 6 }, "list": [null, true, "a\"b"],
        };
        assert_eq!(
            written(document, NumberForm::Plain),
            r#"{"_id":{"$oid":"65a000000000000000000001"},"at":{"$date":"2023-11-14T22:13:20.123Z"},"before":{"$date":{"$numberLong":"-1"}},"bytes":{"$binary":{"base64":"AQI=","subType":"00"}},"time":{"$timestamp":{"t":5,"i":6}},"list":[null,true,"a\"b"]}"#
        );
    }
}
