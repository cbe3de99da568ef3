//! The keys of one successful fetch.

use jsonwebtoken::DecodingKey;
use serde::Deserialize;
use serde_json::Value;

use super::key::PublishedKey;
use crate::token::Algorithm;

#[derive(Default)]
pub struct KeySet(Vec<PublishedKey>);

/// What a token's header leads to.
pub enum Found {
    /// Normally one; more where the issuer gave two keys one name.
    Keys(Vec<DecodingKey>),
    /// The token names no key, and several could be meant.
    Ambiguous,
    Nothing,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

impl KeySet {
    /// Keys that cannot be used are left out: issuers publish keys for other purposes beside ours.
    pub fn read(body: &[u8]) -> Result<Self, String> {
        let document: Document =
            serde_json::from_slice(body).map_err(|error| format!("the answer is not a key set: {error}"))?;
        let mut keys = Vec::new();
        for jwk in &document.keys {
            match PublishedKey::read(jwk) {
                Ok(key) => keys.push(key),
                Err(reason) => tracing::debug!(kid = ?jwk.get("kid"), reason, "a published key is left out"),
            }
        }
        if keys.is_empty() {
            tracing::warn!(published = document.keys.len(), "the key set has no usable key; no token will be accepted");
        }
        Ok(Self(keys))
    }

    pub fn find(&self, algorithm: Algorithm, id: Option<&str>) -> Found {
        let suited = |key: &&PublishedKey| key.algorithm == algorithm && (id.is_none() || key.id.as_deref() == id);
        let keys: Vec<DecodingKey> = self.0.iter().filter(suited).map(|key| key.key.clone()).collect();
        match keys.len() {
            0 => Found::Nothing,
            1 => Found::Keys(keys),
            _ if id.is_some() => Found::Keys(keys),
            _ => Found::Ambiguous,
        }
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}
