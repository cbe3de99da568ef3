//! Lists from outside: counted while they are read, so that a long one costs no more than its limit.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Reads a list and keeps its first `MOST` items and one more: enough to see that there are too many.
pub fn read_list<'de, const MOST: usize, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    struct Counting<const MOST: usize, T>(PhantomData<T>);
    impl<'de, const MOST: usize, T: Deserialize<'de>> Visitor<'de> for Counting<MOST, T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
            let mut kept = Vec::new();
            while kept.len() <= MOST {
                match items.next_element()? {
                    Some(item) => kept.push(item),
                    None => return Ok(kept),
                }
            }
            while items.next_element::<IgnoredAny>()?.is_some() {}
            Ok(kept)
        }
    }
    deserializer.deserialize_seq(Counting::<MOST, T>(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_kept_than_shows_that_there_are_too_many() {
        let read = |text: &str| read_list::<3, u8, _>(&mut serde_json::Deserializer::from_str(text));
        for (text, kept) in [("[]", 0), ("[1,2,3]", 3), ("[1,2,3,4]", 4), ("[1,2,3,4,5,6,7]", 4)] {
            assert_eq!(read(text).unwrap().len(), kept, "{text}");
        }
        assert!(read("7").is_err() && read("[\"a\"]").is_err());
    }
}
