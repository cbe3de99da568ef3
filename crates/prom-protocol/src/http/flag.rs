//! Switches in query strings: `1`, `true` and `yes` are on, `0`, `false` and `no` are off.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serializer};

pub fn serialize<S: Serializer>(flag: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if *flag { "1" } else { "0" })
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let text = Cow::<'de, str>::deserialize(deserializer)?;
    match &*text {
        "1" | "true" | "yes" => Ok(true),
        "0" | "false" | "no" => Ok(false),
        other => Err(serde::de::Error::custom(format!("{other:?} is neither 1 nor 0"))),
    }
}
