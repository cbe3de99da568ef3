//! Group names: `[A-Za-z0-9._:-]{1,128}`.

use std::sync::Arc;

use crate::error::{Invalid, excerpt};
use crate::limits;
use crate::text::checked_text;

/// A valid group name. Cloning costs a reference count.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(value_type = String, example = "billing", description = "Letters, digits, `.`, `_`, `:` and `-`; at most 128.")
)]
pub struct GroupName(Arc<str>);

checked_text!(GroupName);

impl GroupName {
    /// Reads a name; refused are empty and long ones and other characters.
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
