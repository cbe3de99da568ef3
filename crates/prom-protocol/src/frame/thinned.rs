//! `THINNED{topic, seen, matched, sent, failed, error?}`: what a subscription without a group left out, each second in which
//! something came. Only for those that asked for a `filter` or for `maxPerSecond`.

use serde::{Deserialize, Serialize};

use super::SubscriptionName;
use super::write::Object;

/// Counts since the frame before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thinned {
    /// Events that were read.
    pub seen: u64,
    /// Those that passed the filter.
    pub matched: u64,
    /// Those of them that were sent.
    pub sent: u64,
    /// Those that the filter failed on. They were not sent.
    pub failed: u64,
    /// Why, for the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Thinned {
    /// Appends the frame.
    pub fn write(&self, out: &mut Vec<u8>, name: &SubscriptionName) {
        let mut object = Object::frame(out, "THINNED", None);
        name.write(&mut object);
        object
            .number("seen", self.seen)
            .number("matched", self.matched)
            .number("sent", self.sent)
            .number("failed", self.failed);
        if let Some(error) = &self.error {
            object.text("error", error);
        }
        object.end();
    }
}
