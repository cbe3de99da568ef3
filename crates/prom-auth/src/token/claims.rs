//! The claims of a token. A claim of the wrong type is an error; `null` counts as absent.

use serde::Deserialize;
use serde_json::{Number, Value};

use crate::AuthError;

#[derive(Debug, Default, Deserialize)]
pub struct Claims {
    pub sub: Option<String>,
    pub iss: Option<String>,
    pub aud: Option<Audience>,
    /// Seconds since the epoch, fractions allowed.
    pub exp: Option<Number>,
    pub nbf: Option<Number>,
    pub scopes: Option<Value>,
    pub scope: Option<Value>,
    pub policy: Option<Value>,
}

/// One audience or several.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "`aud` is neither a string nor a list of strings")]
pub enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Claims {
    pub fn parse(payload: Vec<u8>) -> Result<Self, AuthError> {
        serde_json::from_slice(&payload)
            .map_err(|error| AuthError::invalid(format!("its claims cannot be read: {error}")))
    }
}

impl Audience {
    pub fn contains(&self, audience: &str) -> bool {
        match self {
            Self::One(one) => one == audience,
            Self::Many(many) => many.iter().any(|candidate| candidate == audience),
        }
    }
}
