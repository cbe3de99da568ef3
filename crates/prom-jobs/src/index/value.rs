//! Values of expressions: what is indexed of them, so that values that jq takes for equal have the same entry.

use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_128;

/// A hash of text, a number, `true` or `false`; `None` for everything else, which is not indexed. Numbers that are equal have
/// the same hash, however they are written; some that differ beyond 15 digits have it too, and are told apart by looking.
pub(super) fn hash_of(value: &[u8]) -> Option<u128> {
    let value: &RawValue = serde_json::from_slice(value).ok()?;
    let (kind, text): (u8, Vec<u8>) = match value.get().as_bytes().first()? {
        b'"' => (b's', serde_json::from_str::<String>(value.get()).ok()?.into_bytes()),
        b't' | b'f' => (b'b', value.get().into()),
        b'n' | b'{' | b'[' => return None,
        _ => {
            let number: f64 = value.get().parse().ok()?;
            // Zero has two signs.
            (b'n', (number + 0.0).to_bits().to_be_bytes().to_vec())
        }
    };
    let mut hashed = vec![kind];
    hashed.extend_from_slice(&text);
    Some(xxh3_128(&hashed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_hash_and_other_kinds_another() {
        let hash = |text: &str| hash_of(text.as_bytes());
        for (one, other) in [("1", "1.0"), ("100", "1e2"), ("0", "-0.0"), (r#""a""#, r#""\u0061""#)] {
            assert_eq!(hash(one), hash(other), "{one} and {other}");
        }
        for (one, other) in [("1", r#""1""#), ("true", r#""true""#), ("true", "false"), ("1", "2")] {
            assert_ne!(hash(one), hash(other), "{one} and {other}");
        }
        assert_eq!([hash("null"), hash("[1]"), hash("{}"), hash("")], [None; 4]);
    }
}
