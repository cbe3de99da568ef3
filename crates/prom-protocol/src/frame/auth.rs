//! `AUTH{token?, features?}` → `OK{features, frame_bytes, …}`. Always the first frame; again at any time.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::client::Fields;
use super::write::Object;
use super::{Corr, FrameError, field};
use crate::limits::BATCH_ITEMS;

/// Many events and many acks in one frame.
pub const BATCH: &str = "batch";

/// The client sends publishes again that were refused for their rate, in their order, with the ids they had: the hub lets
/// nothing of their topic overtake them.
pub const ORDERED: &str = "ordered";

/// Spoken between hubs: the token is a hub's own, and what follows was said by a client of it.
pub const RELAY: &str = "relay";

#[derive(Debug, PartialEq, Eq)]
pub struct Auth<'a> {
    pub token: Option<Cow<'a, str>>,
    /// What the client can do beyond the plain frames; names the hub does not know are ignored.
    pub features: Vec<String>,
}

/// What the hub tells a client that it let in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// `prom/0.1.0`
    #[serde(default)]
    pub hub: String,
    /// Those asked for that the hub can do too.
    #[serde(default)]
    pub features: Vec<String>,
    #[serde(default)]
    pub frame_bytes: usize,
    /// The connection, as logs and `why` name it.
    #[serde(default)]
    pub connection: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// When a fresh AUTH is needed at the latest; epoch ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<i64>,
}

impl<'a> Auth<'a> {
    pub(super) fn read(fields: &Fields<'a>) -> Result<Self, FrameError> {
        Ok(Self {
            token: field::optional("token", fields.token, field::text)?,
            features: field::optional("features", fields.features, field::texts::<BATCH_ITEMS>)?.unwrap_or_default(),
        })
    }

    pub fn write(&self, out: &mut Vec<u8>, corr: Option<&Corr>) {
        let mut object = Object::frame(out, "AUTH", corr);
        if let Some(token) = &self.token {
            object.text("token", token);
        }
        if !self.features.is_empty() {
            let features = serde_json::Value::from(self.features.clone()).to_string();
            object.raw("features", features.as_bytes());
        }
        object.end();
    }
}
