//! The three parts of a token before verification. Only the header is read: it says which keys to try.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::DecodingKey;
use serde_json::{Map, Value};

use super::Algorithm;
use crate::error::excerpt;
use crate::{AuthError, limits};

/// `header.payload.signature`, with an unverified signature.
pub struct SignedToken<'t> {
    algorithm: Algorithm,
    key_id: Option<String>,
    /// Header and payload, as they were signed.
    message: &'t str,
    payload: &'t str,
    signature: &'t str,
}

impl<'t> SignedToken<'t> {
    pub fn parse(token: &'t str) -> Result<Self, AuthError> {
        if token.len() > limits::TOKEN_BYTES {
            let reason = format!("it has {} bytes, the limit is {}", token.len(), limits::TOKEN_BYTES);
            return Err(AuthError::invalid(reason));
        }
        let not_three_parts = || AuthError::invalid("it is not a JWT: expected three parts separated by dots");
        let (message, signature) = token.rsplit_once('.').ok_or_else(not_three_parts)?;
        let (header, payload) = message.split_once('.').ok_or_else(not_three_parts)?;
        if payload.contains('.') {
            return Err(not_three_parts());
        }
        let header = read_header(header)?;
        Ok(Self { algorithm: algorithm(&header)?, key_id: key_id(&header)?, message, payload, signature })
    }

    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    /// The key must be for the token's algorithm; a key that the library cannot use verifies nothing.
    pub fn is_signed_by(&self, key: &DecodingKey) -> bool {
        let algorithm = self.algorithm.of_library();
        if key.family() != algorithm.family() {
            return false;
        }
        jsonwebtoken::crypto::verify(self.signature, self.message.as_bytes(), key, algorithm).unwrap_or(false)
    }

    /// Only meaningful once the signature is verified.
    pub fn payload(&self) -> Result<Vec<u8>, AuthError> {
        let decoded = URL_SAFE_NO_PAD.decode(self.payload);
        decoded.map_err(|_| AuthError::invalid("its payload is not base64url without padding"))
    }
}

fn read_header(encoded: &str) -> Result<Map<String, Value>, AuthError> {
    let decoded = URL_SAFE_NO_PAD.decode(encoded);
    let bytes = decoded.map_err(|_| AuthError::invalid("its header is not base64url without padding"))?;
    let header: Map<String, Value> =
        serde_json::from_slice(&bytes).map_err(|_| AuthError::invalid("its header is not a JSON object"))?;
    // `crit` asks every verifier that does not know an extension to refuse the token, and we know none.
    if header.contains_key("crit") {
        Err(AuthError::invalid("its header has `crit`, and this hub knows no critical extensions"))
    } else {
        Ok(header)
    }
}

fn algorithm(header: &Map<String, Value>) -> Result<Algorithm, AuthError> {
    let name = header.get("alg").and_then(Value::as_str);
    let name = name.ok_or_else(|| AuthError::invalid("its header has no `alg`"))?;
    Algorithm::parse(name).ok_or_else(|| {
        let name = excerpt(name);
        AuthError::invalid(format!("its algorithm {name:?} is not supported; use RS256, ES256, EdDSA or HS256"))
    })
}

fn key_id(header: &Map<String, Value>) -> Result<Option<String>, AuthError> {
    match header.get("kid") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) => Ok(Some(id.clone())),
        Some(_) => Err(AuthError::invalid("its `kid` is not a string")),
    }
}
