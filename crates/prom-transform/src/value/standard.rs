//! What the standard library needs from values.

use jaq_json::{Num, Val};
use jaq_std::ValT;

use super::access::BYTES_PER_WORK;
use super::{ELEMENT_BYTES, Value};
use crate::meter;

impl ValT for Value {
    fn into_seq<S: FromIterator<Self>>(self) -> Result<S, Self> {
        let origin = self.origin();
        match self.val {
            Val::Arr(elements) => {
                meter::work(elements.len());
                meter::build(elements.len() * ELEMENT_BYTES);
                Ok(elements.iter().cloned().map(|val| origin.child(val)).collect())
            }
            _ => Err(self),
        }
    }

    fn is_int(&self) -> bool {
        matches!(self.val, Val::Num(Num::Int(_) | Num::BigInt(_)))
    }

    fn as_isize(&self) -> Option<isize> {
        self.val.as_isize()
    }

    fn as_f64(&self) -> Option<f64> {
        self.val.as_f64()
    }

    fn is_utf8_str(&self) -> bool {
        self.val.is_utf8_str()
    }

    fn as_bytes(&self) -> Option<&[u8]> {
        // The library is about to walk the string.
        let bytes = self.val.as_bytes()?;
        meter::work(bytes.len() / BYTES_PER_WORK);
        Some(bytes)
    }

    fn as_sub_str(&self, sub: &[u8]) -> Self {
        Value::scalar(self.val.as_sub_str(sub))
    }

    fn from_utf8_bytes(bytes: impl AsRef<[u8]> + Send + 'static) -> Self {
        meter::build(bytes.as_ref().len());
        Value::scalar(Val::from_utf8_bytes(bytes))
    }
}
