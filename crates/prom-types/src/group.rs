//! Group names: `[A-Za-z0-9._:-]{1,128}`.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Invalid, excerpt};
use crate::limits;

/// A valid group name. Cloning costs a reference count.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupName(Arc<str>);

impl GroupName {
    pub fn parse(name: &str) -> Result<Self, Invalid> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
        let reason = if name.is_empty() {
            "it is empty"
        } else if name.len() > limits::GROUP_BYTES {
            "it is too long"
        } else if !name.bytes().all(allowed) {
            "it has a character that is not allowed"
        } else {
            return Ok(Self(name.into()));
        };
        Err(Invalid::Group { name: excerpt(name), reason })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for GroupName {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl TryFrom<&str> for GroupName {
    type Error = Invalid;
    fn try_from(name: &str) -> Result<Self, Invalid> {
        Self::parse(name)
    }
}

impl Serialize for GroupName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for GroupName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&name).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rule() {
        for good in ["billing", "changelog:processes", "A.b_c-1", &"g".repeat(128)] {
            assert!(GroupName::parse(good).is_ok(), "{good:?} refused");
        }
        for bad in ["", "a b", "a/b", "ü", "a\0", &"g".repeat(129)] {
            assert!(GroupName::parse(bad).is_err(), "{bad:?} passed");
        }
    }
}
