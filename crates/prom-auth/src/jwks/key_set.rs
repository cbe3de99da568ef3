//! The keys of one successful fetch.

use jsonwebtoken::DecodingKey;
use serde::Deserialize;
use serde_json::Value;

use super::key::PublishedKey;
use crate::token::Algorithm;

#[derive(Default)]
pub struct KeySet(Vec<PublishedKey>);

/// The keys that fit a token's header.
pub enum KeyLookup {
    /// Normally one; more if the issuer gave two keys the same name.
    Keys(Vec<DecodingKey>),
    /// The token names no key, and several fit.
    Ambiguous,
    Nothing,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

impl KeySet {
    /// Unusable keys are left out: issuers also publish keys for other purposes.
    pub fn read(body: &[u8]) -> Result<Self, String> {
        let document: Document =
            serde_json::from_slice(body).map_err(|error| format!("the answer is not a key set: {error}"))?;
        let mut keys = Vec::new();
        for jwk in &document.keys {
            match PublishedKey::read(jwk) {
                Ok(key) => keys.push(key),
                Err(reason) => tracing::debug!(kid = ?jwk.get("kid"), reason, "left out a published key"),
            }
        }
        if keys.is_empty() {
            tracing::warn!(published = document.keys.len(), "the key set has no usable key; no token will be accepted");
        }
        Ok(Self(keys))
    }

    pub fn find(&self, algorithm: Algorithm, id: Option<&str>) -> KeyLookup {
        let suited = |key: &&PublishedKey| key.algorithm == algorithm && (id.is_none() || key.id.as_deref() == id);
        let keys: Vec<DecodingKey> = self.0.iter().filter(suited).map(|key| key.key.clone()).collect();
        match keys.len() {
            0 => KeyLookup::Nothing,
            1 => KeyLookup::Keys(keys),
            _ if id.is_some() => KeyLookup::Keys(keys),
            _ => KeyLookup::Ambiguous,
        }
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}
